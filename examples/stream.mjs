import OpenAI from 'openai';
import { readStartFile } from './start-file.mjs';

const { baseUrl, apiKey, chatModel } = readStartFile();
const client = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey });

const stream = await client.chat.completions.create({
  model: chatModel,
  stream: true,
  stream_options: { include_usage: true },
  messages: [{ role: 'user', content: 'What does a toll gate do?' }],
});
for await (const chunk of stream) {
  process.stdout.write(chunk.choices[0]?.delta.content ?? '');
  if (chunk.usage) console.log(`\n${chunk.usage.total_tokens} tokens`);
}
