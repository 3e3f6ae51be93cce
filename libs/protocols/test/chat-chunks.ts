import { exchangeOf } from './drive.ts';
import type { Exchange } from '../src/exchange.ts';

export const ASK = { model: 'alias', stream: true, messages: [{ role: 'user', content: 'hi' }] };
export const plain = (): Exchange => exchangeOf('chat', 'openai', ASK);
export const withUsage = (): Exchange =>
  exchangeOf('chat', 'openai', { ...ASK, stream_options: { include_usage: true } });

export const USAGE = '{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}';
export const chunk = (choices: string, rest = ''): string =>
  `data: {"id":"c1","object":"chat.completion.chunk","created":9,"model":"upstream-model","choices":${choices}${rest}}\n\n`;
export const delta = (inner: string, finish = 'null'): string =>
  `[{"index":0,"delta":${inner},"finish_reason":${finish}}]`;
export const ROLE = chunk(delta('{"role":"assistant","content":""}'));
export const HELLO = chunk(delta('{"content":"hello"}'));
export const STOP = chunk(delta('{}', '"stop"'));
export const DONE = 'data: [DONE]\n\n';
export const asAlias = (text: string): string =>
  text.replaceAll('"model":"upstream-model"', '"model":"alias"');
