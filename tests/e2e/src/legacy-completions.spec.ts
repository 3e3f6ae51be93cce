import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { wordsUpTo } from '@tollgate/demo-upstream';
import type OpenAI from 'openai';
import type { NodeUnderTest } from '../../../apps/proxy-node/src/testing/node-under-test.ts';
import { startDemoNode, type DemoNode, type SnapshotModel } from './demo-node-under-test.ts';

/** Is an answer of the interface, or its refusal. */
type Completion = Omit<OpenAI.Completion, 'usage'> & {
  usage: OpenAI.CompletionUsage;
  error: { message: string; param: string | null };
};

const BOUGHT = 1_000_000;

let node: NodeUnderTest;
let baseUrl: string;
let record: DemoNode['record'];
let upstreamAndNode: DemoNode;

beforeAll(async () => {
  upstreamAndNode = await startDemoNode();
  ({ node, baseUrl, record } = upstreamAndNode);
});
afterAll(() => upstreamAndNode.stop());

function legacy(tokens = BOUGHT): Promise<SnapshotModel> {
  const upstream = { baseUrl, overrides: { endpoints: ['completions' as const] } };
  return node.addModel([upstream], {}, tokens);
}

async function ask(
  model: SnapshotModel,
  fields: object,
): Promise<{ status: number; text: string; charge: number; final: unknown; output: number }> {
  const response = await node.post('/v1/completions', { model: model.name, ...fields });
  const text = await response.text();
  const rid = response.headers.get('x-request-id') ?? '';
  const isServed = response.status === 200;
  return {
    status: response.status,
    text,
    charge: BOUGHT - (await node.settledBalance(model)),
    final: isServed ? await node.journalledFinal(rid) : null,
    output: record.list(rid).at(-1)?.reported?.output ?? 0,
  };
}

const chunksOf = (text: string): Completion[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line): Completion => JSON.parse(line.slice('data: '.length)));

test('a prompt is completed by the upstream, in its own fields, and charged as reported', async () => {
  const model = await legacy();
  const { text, charge, final } = await ask(model, { prompt: '@demo tokens=5', max_tokens: 30 });
  const body = JSON.parse(text) as Completion;
  expect(body).toMatchObject({
    object: 'text_completion',
    model: model.name,
    choices: [{ text: wordsUpTo(5), finish_reason: 'stop' }],
  });
  expect(charge).toBe(body.usage.total_tokens);
  expect(final).toMatchObject({ protocol: 'completions', basis: 'reported', output_tokens: 5 });
});

test('without a limit it is the 16 tokens of the protocol', async () => {
  const { text } = await ask(await legacy(), { prompt: '@demo tokens=50' });
  expect((JSON.parse(text) as Completion).choices[0]).toMatchObject({
    text: wordsUpTo(16),
    finish_reason: 'length',
  });
});

test('the limit keeps its name on a route whose chat model takes another', async () => {
  const overrides = { endpoints: ['completions' as const] };
  const outputLimitField = 'max_completion_tokens' as const;
  const model = await node.addModel([{ baseUrl, overrides, outputLimitField }], {}, BOUGHT);
  const { text } = await ask(model, { prompt: '@demo tokens=50', max_tokens: 20 });
  expect((JSON.parse(text) as Completion).usage.completion_tokens).toBe(20);
});

test('several prompts, n and best_of are held for and charged together', async () => {
  const prompt = ['@demo tokens=4', 'another'];
  const fields = { prompt, n: 2, best_of: 3, max_tokens: 10 };
  const { text, output, final } = await ask(await legacy(), fields);
  expect((JSON.parse(text) as Completion).choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
  expect(output).toBe(2 * 3 * 4);
  expect(final).toMatchObject({ output_tokens: output });
  // This is enough for one answer of this limit, not for six: nothing is sent beyond what is paid.
  const small = await legacy(200);
  const long = ['@demo tokens=90', 'another'];
  const { text: lowered } = await ask(small, { ...fields, prompt: long, max_tokens: 100 });
  const { choices, usage } = JSON.parse(lowered) as Completion;
  expect(choices).toHaveLength(4);
  expect(usage.total_tokens).toBeLessThanOrEqual(200);
});

test('prompts of tokens count one each', async () => {
  for (const [prompt, tokens] of [
    [[1, 2, 3], 3],
    [[[1, 2], [3]], 3],
  ] as const) {
    const { final } = await ask(await legacy(), { prompt, max_tokens: 2 });
    expect(final).toMatchObject({ input_tokens: tokens, basis: 'reported' });
  }
});

test('what is echoed is no output', async () => {
  const words = `@demo tokens=3 ${'many words of a prompt '.repeat(40)}`;
  for (const stream of [false, true]) {
    const { text, final } = await ask(await legacy(), {
      prompt: [words, words],
      echo: true,
      max_tokens: 5,
      stream,
    });
    expect(text).toContain('many words of a prompt');
    expect(final).toMatchObject({ output_tokens: 6, basis: 'reported' });
  }
  const scored = await ask(await legacy(), { prompt: words, echo: true, max_tokens: 0 });
  expect(scored.final).toMatchObject({ output_tokens: 0 });
  const unlimited = await ask(await legacy(), { prompt: words, max_tokens: 0 });
  expect(JSON.parse(unlimited.text) as Completion).toMatchObject({
    error: { param: 'max_tokens' },
  });
  const refused = await ask(await legacy(), { prompt: [1, 2], echo: true, stream: true });
  expect(JSON.parse(refused.text) as Completion).toMatchObject({ error: { param: 'echo' } });
});

test('a stream ends with [DONE], and has usage for those who ask', async () => {
  const model = await legacy();
  const plain = await ask(model, { prompt: '@demo tokens=4', stream: true });
  expect(plain.text.endsWith('data: [DONE]\n\n')).toBe(true);
  const chunks = chunksOf(plain.text);
  expect(chunks.flatMap(({ choices }) => choices.map((one) => one.text)).join('')).toBe(
    wordsUpTo(4),
  );
  expect(
    chunks.every((chunk) => !Object.hasOwn(chunk, 'usage') && chunk.model === model.name),
  ).toBe(true);
  expect(plain.final).toMatchObject({ basis: 'reported', output_tokens: 4 });
  const asked = await ask(model, {
    prompt: '@demo tokens=4',
    stream: true,
    stream_options: { include_usage: true },
  });
  expect(chunksOf(asked.text).at(-1)).toMatchObject({
    choices: [],
    usage: { completion_tokens: 4 },
  });
});

test('a stream that breaks ends with an error and without [DONE]', async () => {
  const { text, final } = await ask(await legacy(), {
    prompt: '@demo tokens=20 delay=2 mode=dies',
    max_tokens: 50,
    stream: true,
  });
  expect(chunksOf(text).at(-1)).toHaveProperty('error.message');
  expect(text).not.toContain('[DONE]');
  expect(final).toMatchObject({ outcome: 'upstream_interrupted', basis: 'estimated' });
});

test('fields of other protocols are refused, and so is a model that is served elsewhere', async () => {
  const model = await legacy();
  const { text } = await ask(model, { prompt: 'x', max_completion_tokens: 5 });
  expect(JSON.parse(text) as Completion).toMatchObject({
    error: { code: 'foreign_parameter', param: 'max_completion_tokens' },
  });
  const chat = await node.addModel([{ baseUrl }]);
  const elsewhere = await ask(chat, { prompt: 'x' });
  expect(elsewhere.status).toBe(400);
  expect((JSON.parse(elsewhere.text) as Completion).error.message).toMatch(
    /it is served at \/v1\/chat\/completions, \/v1\/messages, \/v1\/responses, \S+generateContent\.$/,
  );
});
