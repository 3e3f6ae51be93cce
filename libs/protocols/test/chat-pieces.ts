import { exchangeOf } from './drive.ts';
import type { Exchange } from '../src/exchange.ts';

const ASK = {
  model: 'alias',
  stream: true,
  max_tokens: 50,
  messages: [{ role: 'user', content: 'hi' }],
};
export const plain = (): Exchange => exchangeOf('messages', 'openai', ASK);

export const chunk = (delta: object, finish: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c1', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`;
export const ROLE = chunk({ role: 'assistant', content: '' });
export const HELLO = chunk({ content: 'hel' }) + chunk({ content: 'lo' });
export const STOP = chunk({}, 'stop');
export const USAGE = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 8, completion_tokens: 9, total_tokens: 17, prompt_tokens_details: { cached_tokens: 3 } } })}\n\n`;
export const DONE = 'data: [DONE]\n\n';
export const tool = (
  index: number | undefined,
  fields: { id?: string; name?: string; args?: unknown },
): string =>
  chunk({
    tool_calls: [
      {
        ...(index === undefined ? {} : { index }),
        ...(fields.id === undefined ? {} : { id: fields.id, type: 'function' }),
        function: {
          ...(fields.name === undefined ? {} : { name: fields.name }),
          ...('args' in fields ? { arguments: fields.args } : {}),
        },
      },
    ],
  });
