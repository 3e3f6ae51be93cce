import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { wordsUpTo } from '@tollgate/demo-upstream';
import { WEATHER, type Conversation, type Errand } from './client.ts';
import { booked, CONTINUES, overTheWire, setScene, type Scene } from './scene.ts';

const OUTPUT_TOKENS = 7;
const PROMPT = `What is the weather in Bern? @demo mode=agent tokens=${OUTPUT_TOKENS}`;

let scene: Scene;
beforeAll(async () => {
  scene = await setScene();
}, 120_000);
afterAll(() => scene?.tollgate.stop(), 30_000);

const weatherTool = (conversation: Conversation) =>
  betaTool({
    name: WEATHER.name,
    description: WEATHER.description,
    inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    run: (input: unknown) => {
      conversation.toolInputs.push(input);
      return WEATHER.reply;
    },
  });

const begun = (): Conversation => ({ text: '', toolInputs: [], usage: { input: 0, output: 0 } });

function count(conversation: Conversation, { content, usage }: Anthropic.Beta.BetaMessage): void {
  conversation.text = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  conversation.usage.input += usage.input_tokens;
  conversation.usage.output += usage.output_tokens;
}

const clientOf = ({ origin, apiKey }: Errand): Anthropic =>
  new Anthropic({ baseURL: origin, apiKey, maxRetries: 0 });

/** Lists how a client asks for a thread. The first such request is refused where its upstream keeps none. */
const RUNS: readonly {
  name: string;
  refused: readonly number[];
  run: (errand: Errand) => Promise<Conversation>;
}[] = [
  { name: 'by default', refused: [400], run: (errand) => runTools(errand, {}) },
  { name: 'streaming', refused: [400], run: streamTools },
  { name: 'without a thread', refused: [], run: (errand) => runTools(errand, { thread: false }) },
  { name: 'over a thread of its own', refused: [400], run: runThread },
];

async function runTools(errand: Errand, more: { thread?: false }): Promise<Conversation> {
  const conversation = begun();
  const runner = clientOf(errand).beta.messages.toolRunner({
    model: errand.model,
    max_tokens: 1024,
    messages: [{ role: 'user', content: errand.prompt }],
    tools: [weatherTool(conversation)],
    ...more,
  });
  for await (const message of runner) count(conversation, message);
  return conversation;
}

async function streamTools(errand: Errand): Promise<Conversation> {
  const conversation = begun();
  const runner = clientOf(errand).beta.messages.toolRunner({
    model: errand.model,
    max_tokens: 1024,
    messages: [{ role: 'user', content: errand.prompt }],
    tools: [weatherTool(conversation)],
    stream: true,
  });
  for await (const stream of runner) count(conversation, await stream.finalMessage());
  return conversation;
}

async function runThread(errand: Errand): Promise<Conversation> {
  const conversation = begun();
  const thread = clientOf(errand).beta.messages.thread({
    model: errand.model,
    max_tokens: 1024,
    messages: [{ role: 'user', content: errand.prompt }],
    tools: [weatherTool(conversation)],
    unsupportedRequestBehavior: 'continue_unthreaded',
  });
  for await (const message of thread.toolRunner()) count(conversation, message);
  return conversation;
}

test.each(
  RUNS.flatMap(({ name, refused, run }) =>
    (['openai', 'anthropic', 'threads'] as const).map((model) => {
      const isKept = model === 'threads' && refused.length > 0;
      return [name, model, isKept ? [] : refused, isKept, run] as const;
    }),
  ),
)(
  'the tool runner of @anthropic-ai/sdk (%s) completes on an upstream of %s, after the refusal of its thread at most',
  async (_name, model, refused, isKept, run) => {
    const { outcome, tap } = await overTheWire(scene, { model, prompt: PROMPT }, run);
    if (outcome.status === 'rejected') throw outcome.reason;
    expect(outcome.value.toolInputs).toEqual([{ city: 'Bern' }]);
    expect(outcome.value.text).toBe(wordsUpTo(OUTPUT_TOKENS));
    expect(tap.inference.map(({ status }) => status)).toEqual([...refused, 200, 200]);
    const { outcomes, ...tokens } = await booked(scene, tap.inference.slice(refused.length));
    expect(outcomes).toEqual(['completed, reported', 'completed, reported']);
    expect(outcome.value.usage).toEqual(tokens);
    const [, last] = tap.inference.slice(refused.length);
    expect(CONTINUES.test(last?.body ?? '')).toBe(isKept);
    expect(last?.body.includes(PROMPT)).toBe(!isKept);
  },
  30_000,
);

test('a thread that may not fall back raises the typed error of an unsupported request', async () => {
  const { outcome } = await overTheWire(scene, { model: 'anthropic', prompt: PROMPT }, (errand) =>
    clientOf(errand)
      .beta.messages.thread({ model: errand.model, max_tokens: 1024 })
      .send({ role: 'user', content: errand.prompt }),
  );
  expect(outcome).toMatchObject({ status: 'rejected', reason: { status: 400 } });
  expect(outcome.status === 'rejected' && outcome.reason).toBeInstanceOf(
    Anthropic.Messages.ThreadUnsupportedRequestError,
  );
});
