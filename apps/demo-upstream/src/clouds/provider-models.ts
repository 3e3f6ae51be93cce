import { DEMO_APPLICATION } from './tokens.ts';

/** Describes an upstream for a model behind a provider. */
export interface ProviderUpstream {
  readonly baseUrl: string;
  readonly protocol: 'azure' | 'gemini' | 'vertex' | 'bedrock';
  /** Is a credential as it is sealed; absent where any key will do. */
  readonly secret?: string;
  readonly upstreamModel?: string;
}

/** Is the credential of AWS's own examples, as it is sealed. The demo upstream verifies its signatures. */
const AWS = JSON.stringify({
  type: 'aws',
  region: 'us-east-1',
  access_key_id: 'AKIDEXAMPLE',
  secret_access_key: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
});

/** Is an identity whose requests carry a token, which the demo upstream issues. */
const ENTRA = JSON.stringify({ type: 'azure', ...DEMO_APPLICATION });
const VERTEX_PATH = '/v1/projects/demo-project/locations/global';

/** Lists a model behind each provider that the demo upstream speaks. A further provider takes its line here. */
export const PROVIDER_MODELS: readonly {
  name: string;
  /** `account` is the file of the service account that this demo upstream knows. */
  upstream: (origin: string, account: string) => ProviderUpstream;
}[] = [
  {
    name: 'azure, with the model in the body',
    upstream: (origin) => ({ baseUrl: `${origin}/openai/v1`, protocol: 'azure' }),
  },
  {
    name: 'azure, with the deployment in the path',
    upstream: (origin) => ({ baseUrl: `${origin}/openai`, protocol: 'azure' }),
  },
  {
    name: 'gemini',
    upstream: (origin) => ({ baseUrl: `${origin}/v1beta`, protocol: 'gemini' }),
  },
  {
    name: 'azure, with a token of Entra',
    upstream: (origin) => ({ baseUrl: `${origin}/openai/v1`, protocol: 'azure', secret: ENTRA }),
  },
  {
    name: 'gemini at Vertex AI, with a token of a service account',
    upstream: (origin, account) => ({
      baseUrl: `${origin}${VERTEX_PATH}`,
      protocol: 'vertex',
      secret: JSON.stringify({ type: 'google', service_account: account }),
      upstreamModel: 'gemini-2.5-flash',
    }),
  },
  {
    name: 'Claude at Vertex AI, with a token of a service account',
    upstream: (origin, account) => ({
      baseUrl: `${origin}${VERTEX_PATH}`,
      protocol: 'vertex',
      secret: JSON.stringify({ type: 'google', service_account: account }),
      upstreamModel: 'claude-haiku-4-5@20251001',
    }),
  },
  {
    name: 'bedrock by Converse, signed',
    upstream: (origin) => ({
      baseUrl: origin,
      protocol: 'bedrock',
      secret: AWS,
      upstreamModel: 'us.amazon.nova-2-lite-v1:0',
    }),
  },
  {
    name: 'bedrock, Claude by an ARN, signed',
    upstream: (origin) => ({
      baseUrl: origin,
      protocol: 'bedrock',
      secret: AWS,
      upstreamModel:
        'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0',
    }),
  },
  {
    name: 'bedrock by a key of its own',
    upstream: (origin) => ({ baseUrl: origin, protocol: 'bedrock' }),
  },
];

/** Lists them at a demo upstream that knows this service account. */
export function providerModelsAt(
  origin: string,
  account: string,
): readonly { name: string; upstream: ProviderUpstream }[] {
  return PROVIDER_MODELS.map(({ name, upstream }) => ({
    name,
    upstream: upstream(origin, account),
  }));
}

/** Returns the fields of the administration interface for such an upstream, and the model of a route there. */
export function administered({ baseUrl, protocol, secret, upstreamModel }: ProviderUpstream) {
  const auth: Readonly<Record<string, string>> =
    secret === undefined ? { type: 'api_key', api_key: 'key-of-the-operator' } : JSON.parse(secret);
  return {
    protocols: [protocol],
    upstream: { protocol, base_url: baseUrl, auth },
    ...(upstreamModel !== undefined && { upstreamModel }),
  };
}
