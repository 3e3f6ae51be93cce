import { createOpenAI } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, Output } from 'ai';
import OpenAI from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import type { Errand } from './client.ts';
import { booked, overTheWire, setScene, type Scene } from './scene.ts';

const WEATHER = { city: 'Bern', celsius: 21 };
const weather = z.object({ city: z.string(), celsius: z.number() });
const ANSWER = Buffer.from(JSON.stringify(WEATHER)).toString('base64url');
const PROMPT = `What is the weather in Bern? @demo text=${ANSWER}`;
const MAX_TOKENS = 1024;

let scene: Scene;
beforeAll(async () => {
  scene = await setScene();
}, 120_000);
afterAll(() => scene?.tollgate.stop(), 30_000);

const openai = ({ origin, apiKey }: Errand): OpenAI =>
  new OpenAI({ baseURL: `${origin}/v1`, apiKey, maxRetries: 0 });

const CLIENTS: Readonly<Record<string, (errand: Errand) => Promise<unknown>>> = {
  'openai chat': async (errand) => {
    const { choices } = await openai(errand).chat.completions.parse({
      model: errand.model,
      messages: [{ role: 'user', content: errand.prompt }],
      response_format: zodResponseFormat(weather, 'weather'),
    });
    return choices[0]?.message.parsed;
  },
  'openai responses': async (errand) => {
    const response = await openai(errand).responses.parse({
      model: errand.model,
      input: errand.prompt,
      store: false,
      text: { format: zodTextFormat(weather, 'weather') },
    });
    return response.output_parsed;
  },
  '@anthropic-ai/sdk': async ({ origin, apiKey, model, prompt }) => {
    const client = new Anthropic({ baseURL: origin, apiKey, maxRetries: 0 });
    const message = await client.messages.parse({
      model,
      max_tokens: MAX_TOKENS,
      messages: [{ role: 'user', content: prompt }],
      output_config: { format: zodOutputFormat(weather) },
    });
    return message.parsed_output;
  },
  ai: async ({ origin, apiKey, model, prompt }) => {
    const provider = createOpenAI({ baseURL: `${origin}/v1`, apiKey });
    const { output } = await generateText({
      model: provider.chat(model),
      prompt,
      output: Output.object({ schema: weather }),
    });
    return output;
  },
  '@langchain/openai': ({ origin, apiKey, model, prompt }) =>
    new ChatOpenAI({ model, apiKey, configuration: { baseURL: `${origin}/v1` } })
      .withStructuredOutput(weather, { method: 'jsonSchema', name: 'weather' })
      .invoke(prompt),
};

test.each(
  Object.entries(CLIENTS).flatMap(([name, run]) =>
    (['openai', 'anthropic'] as const).map((model) => [name, model, run] as const),
  ),
)(
  '%s reads the object that its schema asks for, from an upstream of protocol %s',
  async (_name, model, run) => {
    const { outcome, tap } = await overTheWire(scene, { model, prompt: PROMPT }, run);
    if (outcome.status === 'rejected') throw outcome.reason;
    expect(outcome.value).toEqual(WEATHER);
    expect(tap.inference.map(({ status }) => status)).toEqual([200]);
    expect(tap.inference[0]?.body).toContain('celsius');
    const { outcomes } = await booked(scene, tap.inference);
    expect(outcomes).toEqual(['completed, reported']);
  },
  30_000,
);
