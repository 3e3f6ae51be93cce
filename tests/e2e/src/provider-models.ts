import type { UpstreamSpec } from '../../../apps/proxy-node/src/testing/node-under-test.ts';

/** A model behind each provider that the demo upstream speaks. A further provider takes its line here. */
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
];
