import { DEMO_APPLICATION, demoServiceAccount } from '@tollgate/demo-upstream';
import type { UpstreamSpec } from '../../../apps/proxy-node/src/testing/node-under-test.ts';

/** Is the credential of AWS's own examples, as it is sealed. The demo upstream verifies its signatures. */
const AWS = JSON.stringify({
  type: 'aws',
  region: 'us-east-1',
  access_key_id: 'AKIDEXAMPLE',
  secret_access_key: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
});

/** Makes identities whose requests carry a token, which the demo upstream issues. */
const GOOGLE = (): string =>
  JSON.stringify({ type: 'google', service_account: demoServiceAccount() });
const ENTRA = JSON.stringify({ type: 'azure', ...DEMO_APPLICATION });
const VERTEX_PATH = '/v1/projects/demo-project/locations/global';

/** Lists a model behind each provider that the demo upstream speaks. A further provider takes its line here. */
export const PROVIDER_MODELS: readonly {
  name: string;
  upstream: (origin: string) => UpstreamSpec;
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
    upstream: (origin) => ({
      baseUrl: `${origin}${VERTEX_PATH}`,
      protocol: 'vertex',
      secret: GOOGLE(),
      upstreamModel: 'gemini-2.5-flash',
    }),
  },
  {
    name: 'Claude at Vertex AI, with a token of a service account',
    upstream: (origin) => ({
      baseUrl: `${origin}${VERTEX_PATH}`,
      protocol: 'vertex',
      secret: GOOGLE(),
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
