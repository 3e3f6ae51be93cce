import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { appendFileSync, mkdtempSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ResponseStore } from './response-store.ts';
import { createDemoUpstream } from './server.ts';
import { wordsUpTo } from './words.ts';

const { server, record } = createDemoUpstream();
let base = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => new Promise<void>((resolve) => server.close(() => resolve())));

function ask(path: string, body: unknown, rid: string, signal?: AbortSignal): Promise<Response> {
  return fetch(base + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'x-request-id': rid },
    ...(signal ? { signal } : {}),
  });
}

test('emits exactly as many o200k tokens as words', () => {
  for (const count of [1, 7, 21, 100]) expect(countTokens(wordsUpTo(count))).toBe(count);
});

test('goes on after the words of an answer that was cut off, with an instruction behind them or without', async () => {
  const said = { role: 'assistant', content: ' this is the demo' };
  const instruction = { role: 'user', content: 'Go on, and begin with\n\nthe demo' };
  for (const [rest, text, tokens] of [
    [[said], ' answering with words that are', 5],
    [[said, instruction], 'the demo answering with words that are', 7],
    [[said, { role: 'user', content: 'and now?' }], wordsUpTo(9), 9],
  ] as const) {
    const messages = [{ role: 'user', content: '@demo tokens=9' }, ...rest];
    const answer = await ask('/chat/completions', { model: 'demo', messages }, 'rest');
    const { choices } = (await answer.json()) as { choices: { message: { content: string } }[] };
    expect(choices[0]?.message.content).toBe(text);
    expect(record.list('rest').at(-1)?.reported?.output).toBe(tokens);
  }
});

test('streams chat with usage only when asked, and records what it reported', async () => {
  const text = await (
    await ask(
      '/chat/completions',
      { model: 'demo', stream: true, messages: [{ role: 'user', content: '@demo tokens=3' }] },
      'a',
    )
  ).text();
  expect(text).not.toContain('"usage"');
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  const asked = await (
    await ask(
      '/chat/completions',
      {
        model: 'demo',
        stream: true,
        stream_options: { include_usage: true },
        messages: [{ role: 'user', content: '@demo tokens=3' }],
      },
      'b',
    )
  ).text();
  expect(asked).toContain('"completion_tokens":3');
  expect(record.list('b')[0]).toMatchObject({
    emitted: 3,
    ending: 'finished',
    reported: { output: 3 },
  });
});

test('streams messages as the six named events in order', async () => {
  const text = await (
    await ask(
      '/messages',
      { model: 'demo', max_tokens: 2, stream: true, messages: [{ role: 'user', content: 'hi' }] },
      'c',
    )
  ).text();
  const names = [...text.matchAll(/^event: (.*)$/gm)].map((match) => match[1]);
  expect(names).toEqual([
    'message_start',
    'content_block_start',
    'ping',
    'content_block_delta',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
  expect(text).toContain('"stop_reason":"max_tokens"');
});

test('knows how much it had emitted when the caller hung up', async () => {
  const hangUp = new AbortController();
  const response = await ask(
    '/chat/completions',
    {
      model: 'demo:stalls',
      stream: true,
      messages: [{ role: 'user', content: '@demo tokens=10' }],
    },
    'd',
    hangUp.signal,
  );
  const reader = response.body?.getReader();
  await reader?.read();
  hangUp.abort();
  await reader?.closed.catch(() => undefined);
  while (record.list('d')[0]?.ending === 'open')
    await new Promise((resolve) => setImmediate(resolve));
  expect(record.list('d')[0]).toMatchObject({ emitted: 5, ending: 'aborted', reported: null });
});

test.each([
  ['429', 429],
  ['500', 500],
  ['529', 529],
])('answers %s in the mode for it', async (mode, status) => {
  expect(
    (await ask('/messages', { model: `demo:${mode}`, max_tokens: 5, messages: [] }, mode)).status,
  ).toBe(status);
});

interface Embeddings {
  data: { embedding: number[] | string }[];
}

test('encodes embeddings as floats or base64', async () => {
  const float = (await (
    await ask('/embeddings', { model: 'e', input: ['x', 'y'] }, 'e')
  ).json()) as Embeddings;
  const packed = (await (
    await ask('/embeddings', { model: 'e', input: 'x', encoding_format: 'base64' }, 'f')
  ).json()) as Embeddings;
  expect(float.data).toHaveLength(2);
  expect([
    ...new Float32Array(
      new Uint8Array(Buffer.from(String(packed.data[0]?.embedding), 'base64')).buffer,
    ),
  ]).toEqual(float.data[0]?.embedding);
});

test.each([
  ['chat', '/chat/completions', { role: 'tool', tool_call_id: 'x', content: 'done' }],
  [
    'messages',
    '/messages',
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x', content: 'done' }] },
  ],
])(
  'as an agent on %s calls the requested tool once, and then answers in words',
  async (protocol, path, result) => {
    const args = Buffer.from('{"path":"a.txt"}').toString('base64url');
    const tools = ['first', 'second'].map((name) =>
      protocol === 'chat' ? { type: 'function', function: { name } } : { name, input_schema: {} },
    );
    const question = {
      role: 'user',
      content: `@demo mode=agent tokens=2 tool=second args=${args}`,
    };
    const first = await (
      await ask(path, { model: 'demo', max_tokens: 9, tools, messages: [question] }, 'e')
    ).text();
    expect(first).toContain('"name":"second"');
    expect(first).toContain('a.txt');
    const last = await (
      await ask(
        path,
        {
          model: 'demo',
          max_tokens: 9,
          tools,
          messages: [question, { role: 'assistant', content: 'so' }, result],
        },
        'e',
      )
    ).text();
    expect(last).not.toContain('"name":"second"');
    expect(last).toContain(' this is');
  },
);

test('reports the tokens of each image beside those of the text', async () => {
  const text = { type: 'text', text: '@demo tokens=1' };
  const promptOf = async (rid: string, ...images: object[]): Promise<number> => {
    const messages = [{ role: 'user', content: [text, ...images] }];
    await (await ask('/chat/completions', { model: 'demo', messages }, rid)).text();
    return record.list(rid).at(-1)?.reported?.prompt ?? 0;
  };
  const without = await promptOf('no-image');
  expect(await promptOf('images', { type: 'image_url' }, { type: 'image' })).toBeGreaterThan(
    without + 2 * 765 - 1,
  );
});

test('a provider that was killed still has the responses that ended, and the others have failed', () => {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'demo-upstream-')), 'responses');
  const store = new ResponseStore(file);
  store.keep({ response: { id: 'a', status: 'in_progress' }, input: [] });
  store.keep({ response: { id: 'a', status: 'completed' }, input: [] });
  store.keep({ response: { id: 'b', status: 'in_progress' }, input: [] });
  appendFileSync(file, '{"response":{"id":"c"');
  const after = new ResponseStore(file);
  expect(after.get('a')?.response['status']).toBe('completed');
  expect(after.get('b')?.response['status']).toBe('failed');
  expect(after.get('c')).toBeUndefined();
});
