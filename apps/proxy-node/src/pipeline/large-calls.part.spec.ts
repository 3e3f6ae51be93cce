import { describe, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { chunk, event, sse, usage, named } from '../testing/chat-stream.ts';
import { COMPLETION, json, node, upstreamOf } from './pipeline-under-test.ts';

/** Is a file that an agent writes whole. */
const INPUT = { path: 'a.txt', text: 'word '.repeat(600_000) };
const ARGUMENTS = JSON.stringify(INPUT);
const USED = { prompt: 20, output: 600_100 };
const LIMIT = 700_000;
const BALANCE = 5_000_000;

type Protocol = 'openai' | 'anthropic';

const CALL = { id: 'toolu_1', name: 'write' };
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'real',
  content: [{ type: 'tool_use', ...CALL, input: INPUT }],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: { input_tokens: USED.prompt, output_tokens: USED.output },
};
const CHAT_CALL = {
  id: CALL.id,
  type: 'function',
  function: { name: CALL.name, arguments: ARGUMENTS },
};
const CHAT = {
  ...COMPLETION,
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: null, tool_calls: [CHAT_CALL] },
      finish_reason: 'tool_calls',
    },
  ],
  usage: {
    prompt_tokens: USED.prompt,
    completion_tokens: USED.output,
    total_tokens: USED.prompt + USED.output,
  },
};

function streamOf(protocol: Protocol, pieces: readonly string[]): string[] {
  if (protocol === 'openai') {
    const call = { index: 0, ...CHAT_CALL, function: { name: CALL.name, arguments: '' } };
    return [
      chunk({ role: 'assistant', tool_calls: [call] }),
      ...pieces.map((piece) =>
        chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] }),
      ),
      chunk({}, 'tool_calls'),
      usage(USED.prompt, USED.output),
      event('[DONE]'),
    ];
  }
  const begin = { ...MESSAGE, content: [], stop_reason: null };
  const block = { index: 0, content_block: { type: 'tool_use', ...CALL, input: {} } };
  return [
    named({ type: 'message_start', ...{ message: begin } }),
    named({ type: 'content_block_start', ...block }),
    ...pieces.map((partial_json) =>
      named({
        type: 'content_block_delta',
        ...{ index: 0, delta: { type: 'input_json_delta', partial_json } },
      }),
    ),
    named({ type: 'content_block_stop', ...{ index: 0 } }),
    named({
      type: 'message_delta',
      ...{ delta: { stop_reason: 'tool_use' }, usage: { output_tokens: USED.output } },
    }),
    named({ type: 'message_stop' }),
  ];
}

function answer(
  response: ServerResponse,
  { protocol, isStream, pieces }: { protocol: Protocol; isStream: boolean; pieces: number },
): void {
  if (!isStream) return json(response, protocol === 'openai' ? CHAT : MESSAGE);
  const length = Math.ceil(ARGUMENTS.length / pieces);
  const parts = Array.from({ length: pieces }, (_, at) =>
    ARGUMENTS.slice(at * length, (at + 1) * length),
  );
  sse(response).end(streamOf(protocol, parts).join(''));
}

/** Returns the arguments as the caller's SDK puts them together. */
function readArguments(path: string, isStream: boolean, text: string): unknown {
  const isMessages = path === '/v1/messages';
  if (!isStream) {
    const body = JSON.parse(text) as typeof MESSAGE & typeof CHAT;
    return isMessages
      ? body.content[0]?.input
      : JSON.parse(body.choices[0]?.message.tool_calls[0]?.function.arguments ?? '');
  }
  const field = isMessages ? 'partial_json' : 'arguments';
  const pieces = text.matchAll(new RegExp(`"${field}":("(?:[^"\\\\]|\\\\.)*")`, 'g'));
  return JSON.parse(
    [...pieces].map(([, piece = '""']) => JSON.parse(piece) as string).join(''),
  ) as unknown;
}

describe.each(['/v1/messages', '/v1/chat/completions'])(
  'a call with 3 MB of arguments, %s',
  (path) => {
    test.each<[Protocol, string, boolean, number]>([
      ['anthropic', 'JSON', false, 1],
      ['anthropic', 'a stream with one event of them', true, 1],
      ['anthropic', 'a stream of 30,000 pieces', true, 30_000],
      ['openai', 'JSON', false, 1],
      ['openai', 'a stream with one event of them', true, 1],
      ['openai', 'a stream of 30,000 pieces', true, 30_000],
    ])(
      'of an upstream of protocol %s arrives whole in %s, charged as reported',
      async (protocol, _form, isStream, pieces) => {
        const upstream = await upstreamOf((response) =>
          answer(response, { protocol, isStream, pieces }),
        );
        const model = await node.addModel([{ baseUrl: upstream.baseUrl, protocol }], {}, BALANCE);
        const response = await node.post(path, {
          model: model.name,
          stream: isStream,
          max_tokens: LIMIT,
          messages: [{ role: 'user', content: 'write the file' }],
        });
        const text = await response.text();
        expect(response.status).toBe(200);
        expect(readArguments(path, isStream, text)).toEqual(INPUT);
        expect(await node.journalledFinal(response.headers.get('request-id'))).toMatchObject({
          outcome: 'completed',
          basis: 'reported',
          output_tokens: USED.output,
        });
      },
    );
  },
);
