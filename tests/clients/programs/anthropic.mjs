// anthropic.mjs: npm install @anthropic-ai/sdk
import Anthropic from '@anthropic-ai/sdk';

const { TOLLGATE_ORIGIN: origin, TOLLGATE_API_KEY: apiKey, TOLLGATE_MODEL: model } = process.env;
const prompt = process.argv[2] ?? 'What is the weather in Bern?';

const client = new Anthropic({ baseURL: origin, apiKey });
const tools = [
  {
    name: 'get_weather',
    description: 'Weather in a city',
    input_schema: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    },
  },
];
const messages = [{ role: 'user', content: prompt }];
for (;;) {
  const message = await client.messages
    .stream({ model, max_tokens: 1024, messages, tools })
    .finalMessage();
  if (message.stop_reason !== 'tool_use') {
    console.log(message.content.map((block) => block.text ?? '').join(''));
    console.log(message.usage);
    break;
  }
  messages.push({ role: 'assistant', content: message.content });
  messages.push({
    role: 'user',
    content: message.content
      .filter(({ type }) => type === 'tool_use')
      .map(({ id, input }) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: `{"city":"${input.city}","sky":"clear","celsius":21}`,
      })),
  });
}
