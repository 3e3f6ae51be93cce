import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import {
  chunk,
  event,
  messageStart,
  messageText,
  named,
  sse,
  START,
} from '../testing/chat-stream.ts';
import { localUpstreams } from '../testing/local-upstream.ts';
import type { SnapshotModel } from '@tollgate/snapshot';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';

/** The upstreams' reports name one side only, or are odd in other ways. */
let node: NodeUnderTest;
const { upstreamOf, closeUpstreams } = localUpstreams();

type Answer = (response: ServerResponse) => unknown;

let answer: Answer;
let models: Record<'openai' | 'anthropic' | 'embedding', SnapshotModel>;

beforeAll(async () => {
  node = await startNodeUnderTest({ ANSWER_BYTES_MAX: '2000000' });
  const { baseUrl } = await upstreamOf((response) => answer(response));
  const overrides = { endpoints: ['responses' as const, 'completions' as const] };
  models = {
    openai: await node.addModel([{ baseUrl, overrides }], {}, BOUGHT),
    anthropic: await node.addModel([{ baseUrl, protocol: 'anthropic' }], {}, BOUGHT),
    embedding: await node.addModel([{ baseUrl }], { kind: 'embedding' }, BOUGHT),
  };
});
afterAll(async () => {
  await node.stop();
  await closeUpstreams();
});

const BOUGHT = 10_000_000;
/** Is the number of tokens of the prompt's text. */
const PROMPT = 1_000;
const PROMPT_TEXT = ' word'.repeat(PROMPT);
const OUTPUT = 120;
const OUTPUT_TEXT = ' word'.repeat(OUTPUT);
/** Families of models add at most this many tokens to plain text. */
const ADDED = 40;
const LIMIT = 500;

type Names = readonly [prompt: string, output: string];
interface Endpoint {
  path: string;
  protocol: 'openai' | 'anthropic';
  names: Names;
  body: object;
  /** Writes `text` and `usage` as this endpoint's upstream answers. */
  whole: (text: string, usage: object) => object;
  stream: ((text: string, usage: object) => string) | null;
}

const CHAT_NAMES: Names = ['prompt_tokens', 'completion_tokens'];
const RESPONSE_NAMES: Names = ['input_tokens', 'output_tokens'];
const MESSAGES = [{ role: 'user', content: PROMPT_TEXT }];

const responseOf = (text: string, usage: object) => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'real',
  output: [
    { type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text }] },
  ],
  usage,
});

const ENDPOINTS: Record<string, Endpoint> = {
  chat: {
    path: '/v1/chat/completions',
    protocol: 'openai',
    names: CHAT_NAMES,
    body: { max_tokens: LIMIT, messages: MESSAGES },
    whole: (content, usage) => ({
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage,
    }),
    stream: (content, usage) =>
      START +
      chunk({ content }, 'stop') +
      event({ id: 'c1', choices: [], usage }) +
      event('[DONE]'),
  },
  completions: {
    path: '/v1/completions',
    protocol: 'openai',
    names: CHAT_NAMES,
    body: { max_tokens: LIMIT, prompt: PROMPT_TEXT },
    whole: (text, usage) => ({ choices: [{ index: 0, text, finish_reason: 'stop' }], usage }),
    stream: (text, usage) =>
      event({ choices: [{ index: 0, text, finish_reason: 'stop' }] }) +
      event({ choices: [], usage }) +
      event('[DONE]'),
  },
  messages: {
    path: '/v1/messages',
    protocol: 'anthropic',
    names: RESPONSE_NAMES,
    body: { max_tokens: LIMIT, messages: MESSAGES },
    whole: (text, usage) => ({
      type: 'message',
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      usage,
    }),
    stream: (text, usage) =>
      named({ type: 'message_start', message: { id: 'm', content: [], usage: {} } }) +
      named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }) +
      messageText(text) +
      named({ type: 'content_block_stop', index: 0 }) +
      named({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }) +
      named({ type: 'message_stop' }),
  },
  responses: {
    path: '/v1/responses',
    protocol: 'openai',
    names: RESPONSE_NAMES,
    body: { max_output_tokens: LIMIT, input: PROMPT_TEXT, store: false },
    whole: responseOf,
    stream: (delta, usage) =>
      named({ type: 'response.created', response: { ...responseOf('', {}), usage: null } }) +
      named({ type: 'response.output_text.delta', delta }) +
      named({ type: 'response.completed', response: responseOf(delta, usage) }),
  },
};

interface Final {
  input_tokens: number;
  output_tokens: number;
  basis: string;
  charge: number;
}

/** Returns the final of one request, which the balance has paid. */
async function finalOf(
  model: SnapshotModel,
  path: string,
  { body, answerWith }: { body: object; answerWith: Answer },
): Promise<Final> {
  answer = answerWith;
  const before = await node.settledBalance(model);
  const response = await node.post(path, { model: model.name, ...body });
  await response.text();
  expect(response.status).toBe(200);
  const charge = before - (await node.settledBalance(model));
  const final = await node.journalledFinal(response.headers.get('x-request-id'));
  expect(final).toMatchObject({ charge });
  return final as Final;
}

const json = (response: ServerResponse, value: object) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));

function answered(
  { path, protocol, body, whole, stream }: Endpoint,
  usage: object,
  { isStream = false, text = OUTPUT_TEXT }: { isStream?: boolean; text?: string } = {},
): Promise<Final> {
  return finalOf(models[protocol], path, {
    body: { ...body, stream: isStream },
    answerWith: (response) =>
      isStream && stream
        ? sse(response).end(stream(text, usage))
        : json(response, whole(text, usage)),
  });
}

function expectAbout(tokens: number, expected: number): void {
  expect(tokens).toBeGreaterThanOrEqual(expected);
  expect(tokens).toBeLessThanOrEqual(expected + ADDED);
}

describe.each(Object.entries(ENDPOINTS))('%s', (_, endpoint) => {
  const [promptName, outputName] = endpoint.names;

  test.each([false, true])(
    'a report of the output alone estimates the prompt, a stream: %s',
    async (isStream) => {
      const final = await answered(endpoint, { [outputName]: 60 }, { isStream });
      expectAbout(final.input_tokens, PROMPT);
      expect(final).toMatchObject({ output_tokens: 60, basis: 'estimated' });
    },
  );

  test.each([false, true])(
    'a report of the prompt alone estimates the output, a stream: %s',
    async (isStream) => {
      for (const missing of [{}, { [outputName]: null }, { [outputName]: '7' }]) {
        const final = await answered(endpoint, { [promptName]: 900, ...missing }, { isStream });
        expectAbout(final.output_tokens, OUTPUT);
        expect(final).toMatchObject({ input_tokens: 900, basis: 'estimated' });
      }
    },
  );

  test('a total alone is no report, and an explicit 0 is one', async () => {
    const total = await answered(endpoint, { total_tokens: 50 });
    expectAbout(total.input_tokens, PROMPT);
    expectAbout(total.output_tokens, OUTPUT);
    const none = await answered(endpoint, { [promptName]: 0, [outputName]: 60 });
    expect(none).toMatchObject({ input_tokens: 0, output_tokens: 60, basis: 'reported' });
  });
});

test('embeddings: a total is the prompt, and without any count the prompt is estimated', async () => {
  const of = (usage: object) =>
    finalOf(models.embedding, '/v1/embeddings', {
      body: { input: PROMPT_TEXT },
      answerWith: (response) =>
        json(response, { object: 'list', data: [{ index: 0, embedding: [1] }], usage }),
    });
  expect(await of({ total_tokens: 950 })).toMatchObject({ input_tokens: 950, basis: 'reported' });
  expect(await of({ prompt_tokens: 950 })).toMatchObject({ input_tokens: 950, basis: 'reported' });
  const estimated = await of({ prompt_tokens: '950' });
  expect(estimated.basis).toBe('estimated');
  expectAbout(estimated.charge, PROMPT);
});

describe('what is counted above the limit', () => {
  const chat = ENDPOINTS['chat'] as Endpoint;
  const CEILING = 2 * LIMIT + 1_024;
  const LONG = ' word'.repeat(20_000);
  const FULL = { prompt_tokens: PROMPT, completion_tokens: 0 };

  test.each([false, true])(
    'is charged to the ceiling, in one piece, a stream: %s',
    async (isStream) => {
      const missing = await answered(chat, { prompt_tokens: PROMPT }, { isStream, text: LONG });
      expect(missing).toMatchObject({ output_tokens: CEILING, basis: 'estimated' });
      const usage = { ...FULL, completion_tokens: 20_000 };
      const reported = await answered(chat, usage, { isStream, text: LONG });
      expect(reported).toMatchObject({ output_tokens: CEILING, charge: PROMPT + CEILING });
    },
  );

  test('so is an answer that is larger than the gateway reads', async () => {
    const model = models.openai;
    const before = await node.settledBalance(model);
    answer = (response) => json(response, chat.whole(' word'.repeat(500_000), {}));
    const response = await node.post(chat.path, { model: model.name, ...chat.body });
    expect(await response.text()).toContain('"answer_too_large"');
    expect(response.status).toBe(400);
    expectAbout(before - (await node.settledBalance(model)), PROMPT + CEILING);
  });

  test.each(['reasoning_content', 'other_name'])('so is %s', async (name) => {
    const whole = (text: string, usage: object) => ({
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: '', [name]: text },
          finish_reason: 'stop',
        },
      ],
      usage,
    });
    const stream = (text: string) =>
      START + chunk({ [name]: text }) + chunk({}, 'stop') + event('[DONE]');
    for (const isStream of [false, true]) {
      const final = await answered({ ...chat, whole, stream }, {}, { isStream, text: LONG });
      expect(final).toMatchObject({ output_tokens: CEILING, basis: 'estimated' });
    }
  });
});

test('a total of more than the classes say is not charged', async () => {
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 900 };
  const final = await answered(ENDPOINTS['chat'] as Endpoint, usage, { text: 'two words' });
  expect(final).toMatchObject({ charge: 15, basis: 'reported' });
});

test('a later report of a messages stream does not take back the prompt', async () => {
  const messages = ENDPOINTS['messages'] as Endpoint;
  const stream = (text: string, usage: object) =>
    messageStart(PROMPT) + (messages.stream?.(text, usage) ?? '').replace(/^.*\n.*\n\n/, '');
  const usage = { input_tokens: 0, output_tokens: 60 };
  const final = await answered({ ...messages, stream }, usage, { isStream: true });
  expect(final).toMatchObject({ input_tokens: PROMPT, output_tokens: 60, basis: 'reported' });
});
