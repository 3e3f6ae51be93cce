import Anthropic from '@anthropic-ai/sdk';
import { readStartFile } from './start-file.mjs';

const { baseUrl, apiKey, chatModel } = readStartFile();
const client = new Anthropic({ baseURL: baseUrl, apiKey });

const message = await client.messages.create({
  model: chatModel,
  max_tokens: 200,
  messages: [{ role: 'user', content: 'What does a toll gate do?' }],
});
for (const block of message.content) if (block.type === 'text') console.log(block.text);
console.log(`${message.usage.input_tokens + message.usage.output_tokens} tokens`);
