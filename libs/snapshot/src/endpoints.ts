import {
  hasFurtherEndpoints,
  type FurtherEndpoint,
  type UpstreamProtocol,
} from '@tollgate/contracts';

/** Hosts that have more than every server of the openai protocol: https://platform.openai.com/docs/api-reference. */
const KNOWN_HOSTS: Readonly<Record<string, readonly FurtherEndpoint[]>> = {
  'api.openai.com': ['responses', 'completions'],
};

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
  if (!hasFurtherEndpoints(protocol)) return [];
  // Azure's newer interface has them at every resource: https://learn.microsoft.com/en-us/azure/ai-foundry/openai/how-to/responses
  if (protocol === 'azure' && !endpoints && base_url.endsWith('/openai/v1')) return ['responses'];
  return endpoints ?? KNOWN_HOSTS[new URL(base_url).hostname] ?? [];
}
