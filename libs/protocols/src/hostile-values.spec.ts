import type { UpstreamProtocol } from '@tollgate/contracts';
import { describe, expect, test } from '@jest/globals';
import { drive, exchangeOf } from '../test/drive.ts';
import { CHAT_STREAM, MESSAGES_STREAM } from '../test/responses-client.ts';
import { clientProtocol } from '@tollgate/contracts';
import { CLIENT_REQUESTS as BODIES } from '../test/client-requests.ts';
import { InvalidRequest, type ClientProtocol, type Exchange } from './exchange.ts';

/** `String` and `Number` throw for it. */
const UNCALLABLE = { toString: null, valueOf: null };
const USAGE = {
  prompt_tokens: 8,
  completion_tokens: 9,
  total_tokens: 17,
  prompt_tokens_details: { cached_tokens: 3, text_tokens: 5 },
};
const COMPLETION = {
  id: 'a',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [
    {
      index: 0,
      text: 'so',
      message: {
        role: 'assistant',
        content: 'so',
        reasoning_content: 'hm',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      finish_reason: 'stop',
    },
  ],
  usage: USAGE,
};
const GEMINI = {
  candidates: [
    {
      index: 0,
      content: {
        role: 'model',
        parts: [
          { text: 'hm', thought: true },
          { text: 'so' },
          { functionCall: { name: 'f', args: {} }, thoughtSignature: 's' },
        ],
      },
      finishReason: 'STOP',
    },
  ],
  usageMetadata: {
    promptTokenCount: 8,
    candidatesTokenCount: 5,
    thoughtsTokenCount: 4,
    cachedContentTokenCount: 3,
    totalTokenCount: 17,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: 8 }],
  },
  modelVersion: 'm',
};
const ANSWERS: Readonly<Record<UpstreamProtocol, object>> = {
  openai: COMPLETION,
  azure: COMPLETION,
  gemini: GEMINI,
  vertex: GEMINI,
  bedrock: {
    output: {
      message: {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: 'hm', signature: 's' } } },
          { text: 'so' },
          { toolUse: { toolUseId: 'c', name: 'f', input: {} } },
        ],
      },
    },
    stopReason: 'tool_use',
    usage: {
      inputTokens: 5,
      outputTokens: 9,
      cacheReadInputTokens: 3,
      cacheWriteInputTokens: 2,
      cacheDetails: [{ ttl: '1h', inputTokens: 1 }],
    },
  },
  anthropic: {
    id: 'a',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [
      { type: 'thinking', thinking: 't', signature: 's' },
      { type: 'text', text: 'so' },
      { type: 'tool_use', id: 'c', name: 'f', input: {} },
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 8, output_tokens: 9, cache_read_input_tokens: 3 },
  },
};
const EMBEDDINGS = {
  object: 'list',
  model: 'm',
  data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
  usage: { prompt_tokens: 2, total_tokens: 2 },
};
const isEmbedding = (protocol: ClientProtocol): boolean =>
  clientProtocol(protocol).kind === 'embedding';
/** Anthropic has no embeddings, and legacy completions are not translated. */
const dialectsOf = (protocol: ClientProtocol): UpstreamProtocol[] =>
  isEmbedding(protocol) || protocol === 'completions' ? ['openai'] : ['openai', 'anthropic'];

/** Yields the value once for each value inside, with another in its place. */
function* withOneReplaced(value: unknown, by: unknown): Generator {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, item] of Object.entries(value)) {
    const put = (other: unknown): unknown =>
      Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other };
    yield put(by);
    for (const inner of withOneReplaced(item, by)) yield put(inner);
  }
}

function open(protocol: ClientProtocol, upstream: UpstreamProtocol, body: unknown): Exchange {
  return exchangeOf(protocol, upstream, JSON.stringify(body), {
    speech: { protocol: upstream, endpoints: ['completions'] },
  });
}

/** Returns whether it throws something that is no answer for the client. */
function crashes(work: () => unknown): boolean {
  try {
    work();
    return false;
  } catch (error) {
    return !(error instanceof InvalidRequest);
  }
}

const PAIRS = (Object.keys(BODIES) as ClientProtocol[]).flatMap((protocol) =>
  dialectsOf(protocol).map((upstream) => ({ protocol, upstream })),
);

describe('a value that cannot be made a text or a number', () => {
  test.each(PAIRS)(
    'anywhere in a request of $protocol is passed on or refused before an upstream of $upstream',
    ({ protocol, upstream }) => {
      open(protocol, upstream, BODIES[protocol]);
      const bodies = [...withOneReplaced(BODIES[protocol], UNCALLABLE)];
      expect(bodies.length).toBeGreaterThan(4);
      const wrong = bodies.filter((body) => crashes(() => open(protocol, upstream, body)));
      expect(wrong.map((body) => JSON.stringify(body))).toEqual([]);
    },
  );

  test.each(PAIRS.filter(({ protocol }) => !isEmbedding(protocol)))(
    'anywhere in a stream from an upstream of $upstream is passed on or ends a stream of $protocol',
    ({ protocol, upstream }) => {
      const stream = upstream === 'openai' ? CHAT_STREAM : MESSAGES_STREAM;
      const streaming =
        protocol === 'generate' ? BODIES.generate : { ...BODIES[protocol], stream: true };
      const streams = eventsOf(stream).flatMap(({ before, name, value, after }) =>
        [...withOneReplaced(value, UNCALLABLE)].map(
          (each) => `${before}${name}data: ${JSON.stringify(each)}\n\n${after}`,
        ),
      );
      expect(streams.length).toBeGreaterThan(40);
      const wrong = streams.filter((each) =>
        crashes(() => drive(open(protocol, upstream, streaming), each)),
      );
      expect(wrong).toEqual([]);
    },
  );

  test.each(PAIRS)(
    'anywhere in an answer from an upstream of $upstream is passed on or is an error for $protocol',
    ({ protocol, upstream }) => {
      const answer = isEmbedding(protocol) ? EMBEDDINGS : ANSWERS[upstream];
      const exchange = open(protocol, upstream, BODIES[protocol]);
      expect(exchange.readJson(Buffer.from(JSON.stringify(answer))).kind).toBe('answer');
      const wrong = [...withOneReplaced(answer, UNCALLABLE)].filter((each) =>
        crashes(() => exchange.readJson(Buffer.from(JSON.stringify(each)))),
      );
      expect(wrong.map((each) => JSON.stringify(each))).toEqual([]);
    },
  );
});

interface Event {
  before: string;
  name: string;
  value: unknown;
  after: string;
}

function eventsOf(stream: string): Event[] {
  const blocks = stream.split('\n\n');
  return blocks.flatMap((block, index): Event[] => {
    const [name = '', data = ''] = block.split('data: ');
    if (!data.startsWith('{')) return [];
    const before = blocks.slice(0, index).map((each) => `${each}\n\n`);
    const after = blocks.slice(index + 1).join('\n\n');
    return [{ before: before.join(''), name, value: JSON.parse(data), after }];
  });
}
