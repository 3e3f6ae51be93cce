import { furtherEndpoints, type FurtherEndpoint, type UpstreamProtocol } from '@tollgate/contracts';
import { presetAt } from './provider-presets.ts';

/** Returns the endpoints that an upstream has beside those of its protocol: the administrator's setting where there is one, else what is known of its host. */
export function endpointsOf({
  protocol,
  base_url,
  endpoints,
}: {
  readonly protocol: UpstreamProtocol;
  readonly base_url: string;
  readonly endpoints?: readonly FurtherEndpoint[] | null | undefined;
}): readonly FurtherEndpoint[] {
  const known = furtherEndpoints(protocol);
  if (known.length === 0) return [];
  // Azure's newer interface has them at every resource: https://learn.microsoft.com/en-us/azure/ai-foundry/openai/how-to/responses
  if (protocol === 'azure' && !endpoints && base_url.endsWith('/openai/v1')) return ['responses'];
  const has = endpoints ?? presetAt(base_url)?.endpoints ?? [];
  return has.filter((endpoint) => known.includes(endpoint));
}
