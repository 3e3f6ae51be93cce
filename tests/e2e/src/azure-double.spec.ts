import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createDemoUpstream } from '@tollgate/demo-upstream';
import type { AddressInfo } from 'node:net';
import { AzureOpenAI } from 'openai';

const { server } = createDemoUpstream();
let client: AzureOpenAI;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = new AzureOpenAI({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    apiKey: 'key',
    apiVersion: '2024-10-21',
    maxRetries: 0,
  });
});
afterAll(() => new Promise<void>((resolve) => server.close(() => resolve())));

const ASK = { model: 'gpt', messages: [{ role: 'user' as const, content: '@demo tokens=3' }] };

test("the demo upstream answers Azure's own client as Azure does", async () => {
  const { choices } = await client.chat.completions.create(ASK);
  expect(choices[0]?.message.content).toBe(' this is the');
  const chunks = [];
  for await (const chunk of await client.chat.completions.create({ ...ASK, stream: true }))
    chunks.push(chunk);
  expect(chunks[0]).toMatchObject({ choices: [], prompt_filter_results: [{ prompt_index: 0 }] });
  const { data } = await client.embeddings.create({ model: 'e', input: 'hi' });
  expect(data).toHaveLength(1);
});

test('it refuses a request without its key, and one of the older interface without a version', async () => {
  const { port } = server.address() as AddressInfo;
  const ask = async (query: string, headers: Record<string, string>) => {
    const path = `/openai/deployments/gpt/chat/completions${query}`;
    const body = JSON.stringify(ASK);
    const sent = { method: 'POST', headers, body };
    return (await fetch(`http://127.0.0.1:${port}${path}`, sent)).status;
  };
  expect(await ask('?api-version=2024-10-21', { authorization: 'Bearer key' })).toBe(401);
  expect(await ask('', { 'api-key': 'key' })).toBe(404);
  expect(await ask('?api-version=2024-10-21', { 'api-key': 'key' })).toBe(200);
});
