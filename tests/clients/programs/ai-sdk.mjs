// ai-sdk.mjs: npm install ai zod @ai-sdk/openai @ai-sdk/openai-compatible @ai-sdk/anthropic
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { isStepCount, streamText, tool } from 'ai';
import { z } from 'zod';

const { TOLLGATE_ORIGIN: origin, TOLLGATE_API_KEY: apiKey, TOLLGATE_MODEL: name } = process.env;
const [, , prompt = 'What is the weather in Bern?', provider = 'compatible'] = process.argv;

const baseURL = `${origin}/v1`;
const models = {
  responses: () => createOpenAI({ baseURL, apiKey })(name),
  chat: () => createOpenAI({ baseURL, apiKey }).chat(name),
  compatible: () =>
    createOpenAICompatible({ name: 'tollgate', baseURL, apiKey, includeUsage: true })(name),
  anthropic: () => createAnthropic({ baseURL, apiKey })(name),
};
const result = streamText({
  model: models[provider](),
  prompt,
  stopWhen: isStepCount(5),
  tools: {
    get_weather: tool({
      description: 'Weather in a city',
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city }) => `{"city":"${city}","sky":"clear","celsius":21}`,
    }),
  },
});
console.log(await result.text);
console.log(await result.totalUsage);
