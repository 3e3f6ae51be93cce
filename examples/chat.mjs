import OpenAI from 'openai';
import { readStartFile } from './start-file.mjs';

const { baseUrl, apiKey, chatModel } = readStartFile();
const client = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey });

const answer = await client.chat.completions.create({
  model: chatModel,
  messages: [{ role: 'user', content: 'What does a toll gate do?' }],
});
console.log(answer.choices[0]?.message.content);
console.log(`${answer.usage?.total_tokens} tokens`);
