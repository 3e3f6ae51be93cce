import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, isStepCount, RetryError, streamText, tool, type LanguageModel } from 'ai';
import { z } from 'zod';
import { WEATHER, type Client, type Conversation, type Errand, type Refused } from '../client.ts';

/** It takes any 429 for passing, whatever `x-should-retry` says; 402 it does not repeat. */
const TRIES_AGAINST_429 = 3;

export const aiOpenaiResponses = client(
  'ai + openai (responses)',
  { protocol: 'openai', triesWithoutQuota: TRIES_AGAINST_429 },
  ({ origin, apiKey, model }) => createOpenAI({ baseURL: `${origin}/v1`, apiKey })(model),
);

export const aiOpenaiChat = client(
  'ai + openai (chat)',
  { protocol: 'openai', triesWithoutQuota: TRIES_AGAINST_429 },
  ({ origin, apiKey, model }) => createOpenAI({ baseURL: `${origin}/v1`, apiKey }).chat(model),
);

export const aiOpenaiCompatible = client(
  'ai + openai-compatible',
  { protocol: 'openai', triesWithoutQuota: TRIES_AGAINST_429 },
  ({ origin, apiKey, model }) =>
    createOpenAICompatible({
      name: 'tollgate',
      baseURL: `${origin}/v1`,
      apiKey,
      includeUsage: true,
    })(model),
);

export const aiAnthropic = client(
  'ai + anthropic',
  { protocol: 'anthropic', triesWithoutQuota: 1 },
  ({ origin, apiKey, model }) => createAnthropic({ baseURL: `${origin}/v1`, apiKey })(model),
);

function client(
  name: string,
  traits: Pick<Client, 'protocol' | 'triesWithoutQuota'>,
  modelOf: (errand: Errand) => LanguageModel,
): Client {
  return {
    name,
    ...traits,
    refusal,
    converse: (errand) => converse(modelOf(errand), errand.prompt),
  };
}

async function converse(model: LanguageModel, prompt: string): Promise<Conversation> {
  const toolInputs: unknown[] = [];
  let failure: unknown;
  const result = streamText({
    model,
    prompt,
    stopWhen: isStepCount(5),
    tools: {
      get_weather: tool({
        description: WEATHER.description,
        inputSchema: z.object({ city: z.string() }),
        execute: (input) => (toolInputs.push(input), WEATHER.reply),
      }),
    },
    onError: ({ error }) => void (failure = error),
  });
  await result.consumeStream();
  if (failure !== undefined) throw failure;
  const { inputTokens = Number.NaN, outputTokens = Number.NaN } = await result.totalUsage;
  return {
    text: await result.text,
    toolInputs,
    usage: { input: inputTokens, output: outputTokens },
  };
}

const openaiError = z.object({ error: z.object({ code: z.string().nullish(), type: z.string() }) });

function refusal(error: unknown): Refused {
  const last = RetryError.isInstance(error) ? error.lastError : error;
  if (!APICallError.isInstance(last)) return { status: undefined, code: undefined };
  const { error: stated } = openaiError.parse(JSON.parse(last.responseBody ?? ''));
  return { status: last.statusCode, code: stated.code ?? stated.type };
}
