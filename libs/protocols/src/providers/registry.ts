import type { UpstreamProtocol } from '@tollgate/contracts';
import { anthropic } from './anthropic.ts';
import { azure } from './azure.ts';
import { bedrock } from './bedrock.ts';
import { gemini } from './gemini.ts';
import { openai } from './openai.ts';
import type { Provider } from './provider.ts';
import { vertex } from './vertex.ts';

export const PROVIDERS: Readonly<Record<UpstreamProtocol, Provider>> = {
  openai,
  anthropic,
  azure,
  gemini,
  vertex,
  bedrock,
};
