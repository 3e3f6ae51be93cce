import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { wordsUpTo } from '@tollgate/demo-upstream';
import { WEATHER, type Conversation, type Errand } from './client.ts';
import { booked, overTheWire, setScene, type Scene } from './scene.ts';

const OUTPUT_TOKENS = 7;
const PROMPT = `What is the weather in Bern? @demo mode=agent tokens=${OUTPUT_TOKENS}`;

let scene: Scene;
beforeAll(async () => {
  scene = await setScene();
}, 60_000);
afterAll(() => scene?.tollgate.stop(), 30_000);

/** Asks for a thread in the first request, as the runner does by default. */
async function runTools({ origin, apiKey, model, prompt }: Errand): Promise<Conversation> {
  const conversation: Conversation = { text: '', toolInputs: [], usage: { input: 0, output: 0 } };
  const client = new Anthropic({ baseURL: origin, apiKey, maxRetries: 0 });
  const weather = betaTool({
    name: WEATHER.name,
    description: WEATHER.description,
    inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    run: (input: unknown) => {
      conversation.toolInputs.push(input);
      return WEATHER.reply;
    },
  });
  const runner = client.beta.messages.toolRunner({
    model,
    max_tokens: 1024,
    messages: [{ role: 'user', content: prompt }],
    tools: [weather],
  });
  for await (const { content, usage } of runner) {
    conversation.text = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    conversation.usage.input += usage.input_tokens;
    conversation.usage.output += usage.output_tokens;
  }
  return conversation;
}

test.each(['openai', 'anthropic'] as const)(
  'the tool runner of @anthropic-ai/sdk is refused its thread once and sends the messages itself, to an upstream of protocol %s',
  async (model) => {
    const { outcome, tap } = await overTheWire(scene, { model, prompt: PROMPT }, runTools);
    if (outcome.status === 'rejected') throw outcome.reason;
    expect(outcome.value.toolInputs).toEqual([{ city: 'Bern' }]);
    expect(outcome.value.text).toBe(wordsUpTo(OUTPUT_TOKENS));
    expect(tap.inference.map(({ status }) => status)).toEqual([400, 200, 200]);
    const { outcomes, ...tokens } = await booked(scene, tap.inference.slice(1));
    expect(outcomes).toEqual(['completed, reported', 'completed, reported']);
    expect(outcome.value.usage).toEqual(tokens);
  },
);
