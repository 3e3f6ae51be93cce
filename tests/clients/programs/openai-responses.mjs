// openai-responses.mjs: npm install openai
import OpenAI from 'openai';

const { TOLLGATE_ORIGIN: origin, TOLLGATE_API_KEY: apiKey, TOLLGATE_MODEL: model } = process.env;
const prompt = process.argv[2] ?? 'What is the weather in Bern?';

const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey });
const tools = [
  {
    type: 'function',
    name: 'get_weather',
    description: 'Weather in a city',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
    strict: true,
  },
];
const input = [{ role: 'user', content: prompt }];
for (;;) {
  const response = await client.responses
    .stream({ model, input, store: false, tools })
    .finalResponse();
  const calls = response.output.filter(({ type }) => type === 'function_call');
  if (calls.length === 0) {
    console.log(response.output_text);
    console.log(response.usage);
    break;
  }
  input.push(
    ...response.output.filter(({ type }) =>
      ['message', 'function_call', 'reasoning'].includes(type),
    ),
  );
  for (const { call_id, arguments: text } of calls) {
    const { city } = JSON.parse(text);
    const output = `{"city":"${city}","sky":"clear","celsius":21}`;
    input.push({ type: 'function_call_output', call_id, output });
  }
}
