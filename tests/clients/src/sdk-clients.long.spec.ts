import { GoogleGenAI } from '@google/genai';
import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { wordsUpTo } from '@tollgate/demo-upstream';
import OpenAI from 'openai';
import type { Client, Conversation } from './client.ts';
import {
  aiAnthropic,
  aiOpenaiChat,
  aiOpenaiCompatible,
  aiOpenaiResponses,
} from './drivers/ai-sdk.ts';
import { anthropic } from './drivers/anthropic.ts';
import { googleGenai } from './drivers/google.ts';
import { invokeAnthropic, langchainAnthropic, langchainOpenai } from './drivers/langchain.ts';
import { openaiChat, openaiResponses } from './drivers/openai.ts';
import { errorCases, type ErrorCase } from './error-cases.ts';
import { booked, overTheWire, PROVIDER_NAMES, setScene, type Scene } from './scene.ts';

/** The client libraries people use, as published, streaming a tool call through a real node from an upstream of their own and of the other protocol. */
const CLIENTS = [
  openaiChat,
  openaiResponses,
  anthropic,
  aiOpenaiResponses,
  aiOpenaiChat,
  aiOpenaiCompatible,
  aiAnthropic,
  langchainOpenai,
  langchainAnthropic,
  googleGenai,
];
/** Names clients of /v1/responses, which some upstreams serve themselves. */
const OF_RESPONSES: ReadonlySet<Client> = new Set([openaiResponses, aiOpenaiResponses]);
const OUTPUT_TOKENS = 7;
const PROMPT = `What is the weather in Bern? @demo mode=agent tokens=${OUTPUT_TOKENS}`;

type Journey = Awaited<ReturnType<typeof overTheWire<Conversation>>>;

let scene: Scene;
/** This is begun first and looked at last: some clients wait seconds between their tries. */
let withoutQuota: Map<Client, Promise<Journey>>;
beforeAll(async () => {
  scene = await setScene();
  withoutQuota = new Map(
    CLIENTS.map((client) => [
      client,
      overTheWire(
        scene,
        { model: client.protocol, prompt: PROMPT, apiKey: scene.poorKey },
        client.converse,
      ),
    ]),
  );
}, 120_000);
afterAll(() => scene?.tollgate.stop(), 30_000);

function fulfilled(outcome: PromiseSettledResult<Conversation>): Conversation {
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

function refusedBy(
  client: Client,
  outcome: PromiseSettledResult<Conversation>,
): ReturnType<Client['refusal']> {
  if (outcome.status === 'fulfilled') throw new Error('it was served');
  return client.refusal(outcome.reason);
}

describe.each(CLIENTS)('$name', (client) => {
  const models = ['openai', 'anthropic', ...PROVIDER_NAMES];
  test.each([...models, ...(OF_RESPONSES.has(client) ? ['native'] : [])])(
    'runs its tool and shows the tokens that are booked, from an upstream of %s',
    async (model) => {
      const { outcome, tap } = await overTheWire(scene, { model, prompt: PROMPT }, client.converse);
      const { text, toolInputs, usage } = fulfilled(outcome);
      expect(toolInputs).toEqual([{ city: 'Bern' }]);
      expect(text).toBe(wordsUpTo(OUTPUT_TOKENS));
      expect(tap.inference.map(({ status }) => status)).toEqual([200, 200]);
      const { outcomes, ...tokens } = await booked(scene, tap.inference);
      expect(outcomes).toEqual(['completed, reported', 'completed, reported']);
      expect(tokens.output).toBe(2 * OUTPUT_TOKENS);
      if (!client.miscountsStreams) expect(usage).toEqual(tokens);
    },
  );

  test('gets the error of a bad key once and does not retry', async () => {
    const { outcome, tap } = await overTheWire(
      scene,
      { model: client.protocol, prompt: PROMPT, apiKey: `${scene.key.slice(0, -4)}AAAA` },
      client.converse,
    );
    expect(refusedBy(client, outcome)).toEqual({
      status: 401,
      code: client.protocol === 'openai' ? 'invalid_api_key' : 'authentication_error',
    });
    expect(tap.inference).toHaveLength(1);
  });
});

test.each(['openai', 'anthropic'] as const)(
  '@langchain/anthropic shows the tokens that are booked when it does not stream, from an upstream of protocol %s',
  async (model) => {
    const { outcome, tap } = await overTheWire(scene, { model, prompt: PROMPT }, invokeAnthropic);
    const { outcomes: _, ...tokens } = await booked(scene, tap.inference);
    expect(fulfilled(outcome).usage).toEqual(tokens);
  },
);

test('@google/genai gets a vector of each text, and they are booked', async () => {
  const { outcome, tap } = await overTheWire(
    scene,
    { model: 'vectors', prompt: 'a text' },
    ({ origin, apiKey, model, prompt }) =>
      new GoogleGenAI({ apiKey, httpOptions: { baseUrl: origin } }).models.embedContent({
        model,
        contents: [prompt, prompt],
      }),
  );
  if (outcome.status === 'rejected') throw outcome.reason;
  const lengths = outcome.value.embeddings?.map(({ values }) => values?.length);
  expect(lengths).toEqual([expect.any(Number), expect.any(Number)]);
  const { outcomes, input } = await booked(scene, tap.inference);
  expect([outcomes, input > 0]).toEqual([['completed, reported'], true]);
});

test('openai goes on from a stored response, reads it, lists its input and deletes it', async () => {
  const { tollgate, models, key } = scene;
  const { responses } = new OpenAI({ baseURL: `${tollgate.nodeUrls[0]}/v1`, apiKey: key });
  const model = models.native.name;
  const first = await responses.create({ model, input: 'a first question @demo tokens=3' });
  const stream = responses.stream({
    model,
    previous_response_id: first.id,
    input: 'a second question @demo tokens=4',
  });
  const second = await stream.finalResponse();
  expect(second.output_text).toBe(wordsUpTo(4));
  expect(second.previous_response_id).toBe(first.id);
  expect(await responses.retrieve(second.id)).toMatchObject({ id: second.id, model });
  const { data } = await responses.inputItems.list(second.id);
  expect(data).toHaveLength(3);
  await responses.delete(second.id);
  await expect(responses.retrieve(second.id)).rejects.toThrow(OpenAI.NotFoundError);
});

test('an alias given in the administration interface serves at once, on the model it stands for', async () => {
  const { tollgate, models, key } = scene;
  await tollgate.admin.call('PUT', `/models/${models.openai.id}`, {
    aliases: ['claude-of-the-house'],
  });
  await tollgate.admin.syncAll();
  const { text } = await anthropic.converse({
    origin: tollgate.nodeUrls[0] ?? '',
    apiKey: key,
    model: 'claude-of-the-house',
    prompt: PROMPT,
  });
  expect(text).toBe(wordsUpTo(OUTPUT_TOKENS));
});

test.each(CLIENTS)(
  '$name gets the error of an empty balance and gives up',
  async (client) => {
    const { outcome, tap } = (await withoutQuota.get(client)) as Journey;
    expect(refusedBy(client, outcome)).toEqual(
      client.protocol === 'openai'
        ? { status: 429, code: 'insufficient_quota' }
        : { status: 402, code: 'billing_error' },
    );
    expect(tap.inference).toHaveLength(client.triesWithoutQuota);
  },
  30_000,
);

describe('what the official SDKs raise', () => {
  const raisedBy = async (call: PromiseLike<unknown>): Promise<object> =>
    call.then(
      () => ({ served: true }),
      (error: unknown) => {
        const { constructor, status } = error as { constructor: { name: string }; status: number };
        return { status, exception: constructor.name };
      },
    );
  const named = ({ status, exception }: ErrorCase['openai']): object => ({ status, exception });

  test('openai: the typed exception of each error', async () => {
    const baseURL = `${scene.tollgate.nodeUrls[0]}/v1`;
    for (const { name, apiKey, model, prompt, more, openai } of await errorCases(scene)) {
      const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
      const messages = [{ role: 'user' as const, content: prompt }];
      const raised = await raisedBy(client.chat.completions.create({ model, messages, ...more }));
      expect([name, raised]).toEqual([name, named(openai)]);
    }
  });

  test('@anthropic-ai/sdk: the typed exception of each error', async () => {
    const baseURL = scene.tollgate.nodeUrls[0];
    for (const { name, apiKey, model, prompt, more, anthropic: expected } of await errorCases(
      scene,
    )) {
      const client = new Anthropic({ baseURL, apiKey, maxRetries: 0 });
      const messages = [{ role: 'user' as const, content: prompt }];
      const raised = await raisedBy(
        client.messages.create({ model, messages, ...more, max_tokens: 5 }),
      );
      expect([name, raised]).toEqual([name, named(expected)]);
    }
  });
});

describe('what the official SDKs have and no node serves says what is served', () => {
  const openai = (): OpenAI =>
    new OpenAI({ baseURL: `${scene.tollgate.nodeUrls[0]}/v1`, apiKey: scene.key, maxRetries: 0 });
  const claude = (): Anthropic =>
    new Anthropic({ baseURL: scene.tollgate.nodeUrls[0], apiKey: scene.key, maxRetries: 0 });

  test.each<[string, () => PromiseLike<unknown>, number?]>([
    ['openai stored completions', () => openai().chat.completions.list(), 405],
    ['openai files', () => openai().files.list()],
    ['openai batches', () => openai().batches.list()],
    ['openai uploads', () => openai().uploads.cancel('upload_1')],
    ['openai images', () => openai().images.generate({ prompt: 'x' })],
    ['openai moderations', () => openai().moderations.create({ input: 'x' })],
    ['openai speech', () => openai().audio.speech.create({ model: 'm', voice: 'v', input: 'x' })],
    ['openai vector stores', () => openai().vectorStores.list()],
    ['openai containers', () => openai().containers.list()],
    ['openai fine-tuning', () => openai().fineTuning.jobs.list()],
    ['anthropic batches', () => claude().messages.batches.list()],
    ['anthropic files', () => claude().beta.files.list()],
    ['anthropic skills', () => claude().beta.skills.list()],
  ])('%s', async (_name, call, status = 404) => {
    const raised = await Promise.resolve(call()).then(
      () => null,
      (error: unknown) => error,
    );
    if (!(raised instanceof OpenAI.APIError || raised instanceof Anthropic.APIError)) throw raised;
    expect(raised.status).toBe(status);
    expect(raised.message).toContain('POST /v1/chat/completions, POST /v1/messages');
  });
});
