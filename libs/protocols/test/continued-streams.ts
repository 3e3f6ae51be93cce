import { NO_USAGE, type TokenUsage, type UpstreamProtocol } from '@tollgate/contracts';
import fc from 'fast-check';
import { RID, wireEvents } from './drive.ts';
import { parseAsk } from '../src/ask/parse-ask.ts';
import { createExchange } from '../src/providers/create-exchange.ts';
import type { Ask, StreamReader } from '../src/exchange.ts';
import { record, records, type JsonRecord } from '../src/json/json-guard.ts';
import { anchorOf } from '../src/continuation/anchor.ts';
import { continuationAsk } from '../src/continuation/continuation-ask.ts';
import { ContinuedReader } from '../src/continuation/continued-reader.ts';
import { deliveredOf, type Delivered } from '../src/continuation/delivered.ts';

export type Client = 'chat' | 'messages';
export const CHARGED: TokenUsage = { ...NO_USAGE, input: 20, output: 6 };
const SINK = { output: () => undefined };

export const askOf = (client: Client, more: object = {}): Ask =>
  parseAsk(
    client,
    Buffer.from(
      JSON.stringify({
        model: 'alias',
        stream: true,
        max_tokens: 100,
        messages: [{ role: 'user', content: 'hi' }],
        ...(client === 'chat' && { stream_options: { include_usage: true } }),
        ...more,
      }),
    ),
  );

export const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
export const named = (type: string, value: object): string =>
  `event: ${type}\n${data({ type, ...value })}`;

/** Writes an upstream's stream of these words; without `output` it breaks off after them. */
export function streamOf(
  upstreamProtocol: UpstreamProtocol,
  words: readonly string[],
  { id, output, calls = false }: { id: string; output?: number; calls?: boolean },
): string {
  return upstreamProtocol === 'openai'
    ? chatStreamOf(words, { id, output, calls })
    : messageStreamOf(words, { id, output, calls });
}

interface Shape {
  id: string;
  output: number | undefined;
  calls: boolean;
}

function chatStreamOf(words: readonly string[], { id, output, calls }: Shape): string {
  const chunk = (delta: object, finish: string | null = null): string =>
    data({
      id,
      object: 'chat.completion.chunk',
      created: 5,
      model: 'real',
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
  const usage = { prompt_tokens: 44, completion_tokens: output, total_tokens: 44 + (output ?? 0) };
  const call = {
    index: 0,
    id: 'call_1',
    type: 'function',
    function: { name: 'f', arguments: '{}' },
  };
  return [
    chunk({ role: 'assistant', content: '' }),
    ...words.map((content) => chunk({ content })),
    ...(calls ? [chunk({ tool_calls: [call] })] : []),
    ...(output === undefined
      ? []
      : [
          chunk({}, calls ? 'tool_calls' : 'stop'),
          data({
            id,
            object: 'chat.completion.chunk',
            created: 5,
            model: 'real',
            choices: [],
            usage,
          }),
          'data: [DONE]\n\n',
        ]),
  ].join('');
}

function messageStreamOf(words: readonly string[], { id, output, calls }: Shape): string {
  const usage = { input_tokens: 44, output_tokens: 1 };
  const message = { id, type: 'message', role: 'assistant', model: 'real', content: [], usage };
  const call = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
  const partial = { type: 'input_json_delta', partial_json: '{}' };
  return [
    named('message_start', { message }),
    named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ...words.map((text) =>
      named('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    ),
    ...(output === undefined && !calls ? [] : [named('content_block_stop', { index: 0 })]),
    ...(calls
      ? [
          named('content_block_start', { index: 1, content_block: call }),
          named('content_block_delta', { index: 1, delta: partial }),
          ...(output === undefined ? [] : [named('content_block_stop', { index: 1 })]),
        ]
      : []),
    ...(output === undefined
      ? []
      : [
          named('message_delta', {
            delta: { stop_reason: calls ? 'tool_use' : 'end_turn', stop_sequence: null },
            usage: { output_tokens: output },
          }),
          named('message_stop', {}),
        ]),
  ].join('');
}

export function readerOf(ask: Ask, upstreamProtocol: UpstreamProtocol): StreamReader {
  return createExchange({
    ask,
    speech: { protocol: upstreamProtocol },
    upstreamModel: 'real',
    outputLimit: 50,
    outputLimitField: 'max_tokens',
    clientHeaders: {},
    idSeed: RID,
  }).openStream(SINK);
}

/** Returns the words by which a model that obeys continues a text. */
export function obedient(delivered: string, words: readonly string[]): string[] {
  const anchor = anchorOf(delivered) ?? '';
  // The answer comes in pieces, as streams have it.
  return [anchor.slice(0, 2), anchor.slice(2), ...words];
}

/** Returns what the client has of a stream that broke off after these words. */
export function cutAfter(
  ask: Ask,
  upstreamProtocol: UpstreamProtocol,
  words: readonly string[],
): { text: string; delivered: Delivered } {
  const delivered = deliveredOf(ask);
  if (!delivered) throw new Error('it may not be continued');
  const reader = readerOf(ask, upstreamProtocol);
  const bytes = [
    reader.push(Buffer.from(streamOf(upstreamProtocol, words, { id: 'first' }))),
    reader.end(),
  ];
  const said = bytes.map((each) => Buffer.from(delivered.observe(each)).toString());
  return { text: said.join(''), delivered };
}

export function continueWith(
  ask: Ask,
  {
    delivered,
    upstreamProtocol,
    upstreamModel = 'real',
  }: { delivered: Delivered; upstreamProtocol: UpstreamProtocol; upstreamModel?: string },
  stream: string,
): string {
  const rest = continuationAsk(ask, { delivered: delivered.text, upstreamProtocol, upstreamModel });
  if (!rest) throw new Error('the text has no anchor');
  const reader = new ContinuedReader(readerOf(rest.ask, upstreamProtocol), {
    delivered,
    anchor: rest.anchor,
    isWhole: false,
    charged: CHARGED,
    rid: RID,
  });
  const bytes = [reader.push(Buffer.from(stream)), reader.end()];
  const total = { ...CHARGED, output: CHARGED.output + (reader.usage?.output ?? 0) };
  return Buffer.concat([...bytes, reader.close(total)]).toString();
}

interface Read {
  text: string;
  ids: unknown[];
  roles: unknown[];
  ends: unknown[];
  output: unknown;
}

/** Reads as a client does; throws where events of a message are out of place. */
export function read(client: Client, stream: string): Read {
  const values = wireEvents(stream)
    .filter((event) => event.data !== '[DONE]')
    .map((event) => JSON.parse(event.data) as JsonRecord);
  return client === 'chat' ? readChunks(values) : readMessage(values);
}

function readChunks(chunks: readonly JsonRecord[]): Read {
  const choices = chunks.flatMap((chunk) => records(chunk['choices']));
  const deltas = choices.map((choice) => record(choice['delta']));
  return {
    text: deltas.map((delta) => delta['content'] ?? '').join(''),
    ids: [...new Set(chunks.map((chunk) => chunk['id']))],
    roles: deltas.flatMap((delta) => delta['role'] ?? []),
    ends: choices.flatMap((choice) => choice['finish_reason'] ?? []),
    output: record(chunks.at(-1)?.['usage'])['completion_tokens'],
  };
}

function readMessage(events: readonly JsonRecord[]): Read {
  const found: Read = { text: '', ids: [], roles: [], ends: [], output: undefined };
  let open: unknown = null;
  let next = 0;
  for (const event of events) {
    const { type, index } = event;
    if (type === 'message_start') {
      const { id, role } = record(event['message']);
      found.ids.push(id);
      found.roles.push(role);
    } else if (type === 'content_block_start') {
      if (open !== null || index !== next) throw new Error(`block ${String(index)} out of place`);
      open = index;
      next += 1;
    } else if (type === 'content_block_delta' || type === 'content_block_stop') {
      if (index !== open)
        throw new Error(`${type} of block ${String(index)}, open ${String(open)}`);
      if (type === 'content_block_stop') open = null;
      found.text += String(record(event['delta'])['text'] ?? '');
    } else if (type === 'message_delta') {
      if (open !== null) throw new Error('a block is still open');
      found.ends.push(record(event['delta'])['stop_reason']);
      found.output = record(event['usage'])['output_tokens'];
    }
  }
  return found;
}

export const words = fc.array(fc.string({ minLength: 1, maxLength: 8 }), {
  minLength: 1,
  maxLength: 6,
});
export const upstreamProtocol = fc.constantFrom<UpstreamProtocol>('openai', 'anthropic');
