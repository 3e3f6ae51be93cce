import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';
import { readStartFile } from './start-file.mjs';

const { baseUrl, apiKey, chatModel } = readStartFile();
const tollgate = createOpenAICompatible({
  name: 'tollgate',
  baseURL: `${baseUrl}/v1`,
  apiKey,
  includeUsage: true,
});

const result = streamText({ model: tollgate(chatModel), prompt: 'What does a toll gate do?' });
for await (const text of result.textStream) process.stdout.write(text);
console.log(`\n${(await result.usage).totalTokens} tokens`);
