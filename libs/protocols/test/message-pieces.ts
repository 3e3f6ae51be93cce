import { exchangeOf, jsonEvents } from './drive.ts';
import type { Exchange } from '../src/exchange.ts';

const ASK = { model: 'alias', stream: true, messages: [{ role: 'user', content: 'hi' }] };
export const plain = (): Exchange => exchangeOf('chat', 'anthropic', ASK);
export const withUsage = (): Exchange =>
  exchangeOf('chat', 'anthropic', { ...ASK, stream_options: { include_usage: true } });

export const event = (type: string, rest = ''): string =>
  `event: ${type}\ndata: {"type":"${type}"${rest}}\n\n`;
export const START = event(
  'message_start',
  ',"message":{"id":"msg_1","model":"claude","content":[],"usage":{"input_tokens":5,"cache_read_input_tokens":3,"output_tokens":1}}',
);
export const open = (index: number, block: string): string =>
  event('content_block_start', `,"index":${index},"content_block":${block}`);
export const delta = (index: number, inner: string): string =>
  event('content_block_delta', `,"index":${index},"delta":${inner}`);
export const close = (index: number): string => event('content_block_stop', `,"index":${index}`);
export const end = (reason: string, more = ''): string =>
  event(
    'message_delta',
    `,"delta":{"stop_reason":"${reason}","stop_sequence":null${more}},"usage":{"output_tokens":9}`,
  ) + event('message_stop');

export const TEXT =
  open(0, '{"type":"text","text":""}') +
  event('ping') +
  delta(0, '{"type":"text_delta","text":"hel"}') +
  delta(0, '{"type":"text_delta","text":"lo"}') +
  close(0);
export const deltas = (text: string): unknown[] =>
  jsonEvents(text).flatMap(({ choices }) =>
    choices.map(({ delta: said }: { delta: unknown }) => said),
  );
