// openai-chat.mjs: npm install openai
import OpenAI from 'openai';

const { TOLLGATE_ORIGIN: origin, TOLLGATE_API_KEY: apiKey, TOLLGATE_MODEL: model } = process.env;
const prompt = process.argv[2] ?? 'What is the weather in Bern?';

const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey });
const runner = client.chat.completions.runTools({
  model,
  stream: true,
  stream_options: { include_usage: true },
  messages: [{ role: 'user', content: prompt }],
  tools: [
    {
      type: 'function',
      function: {
        name: 'get_weather',
        description: 'Weather in a city',
        parameters: {
          type: 'object',
          properties: { city: { type: 'string' } },
          required: ['city'],
          additionalProperties: false,
        },
        strict: true,
        parse: JSON.parse,
        function: ({ city }) => `{"city":"${city}","sky":"clear","celsius":21}`,
      },
    },
  ],
});
console.log(await runner.finalContent());
console.log(await runner.totalUsage());
