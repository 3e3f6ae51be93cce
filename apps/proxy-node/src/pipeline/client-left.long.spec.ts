import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import {
  ACCOUNT_ID,
  startNodeUnderTest,
  until,
  type NodeUnderTest,
} from '../testing/node-under-test.ts';

const BOUGHT = 1_000_000;
const DRAIN_TOKENS = 60;

let node: NodeUnderTest;
const upstreams: LocalUpstream[] = [];

beforeAll(async () => {
  node = await startNodeUnderTest({
    JSON_DRAIN_MS: '1500',
    STREAM_DRAIN_MS: '1500',
    STREAM_DRAIN_TOKENS: String(DRAIN_TOKENS),
  });
});
afterAll(async () => {
  await node.stop();
  await Promise.all(upstreams.map((upstream) => upstream.close()));
});

async function upstreamOf(answer: (response: ServerResponse) => void): Promise<LocalUpstream> {
  const upstream = await startLocalUpstream(answer);
  upstreams.push(upstream);
  return upstream;
}

interface Model {
  id: number;
  name: string;
}

/** "say hello" is 2 tokens as the gateway counts them. */
const PROMPT_TOKENS = 2;
const ask = (model: Model, more: object = {}) => ({
  model: model.name,
  messages: [{ role: 'user', content: 'say hello' }],
  ...more,
});
const event = (data: unknown) =>
  `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
const chunk = (delta: object, finish: string | null = null) =>
  event({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'real',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
const usage = (prompt: number, completion: number) =>
  event({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'real',
    choices: [],
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
    },
  });
const START = chunk({ role: 'assistant', content: '' });
const sse = (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });
const COMPLETION = JSON.stringify({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'real',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'hello there' }, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 },
});

/** Sends a request and leaves it at once when `left` resolves. */
async function leave(body: object, left: Promise<unknown>, apiKey = node.apiKey): Promise<void> {
  const leaving = new AbortController();
  const answered = fetch(`${node.url}/v1/chat/completions`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { authorization: `Bearer ${apiKey}` },
    body: JSON.stringify(body),
  }).then((response) => response.text());
  await left;
  leaving.abort();
  await expect(answered).rejects.toThrow();
}

async function readThenLeave(body: object, isEnough: (text: string) => boolean): Promise<void> {
  const leaving = new AbortController();
  const response = await fetch(`${node.url}/v1/chat/completions`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { authorization: `Bearer ${node.apiKey}` },
    body: JSON.stringify(body),
  });
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (!isEnough(text)) {
    const { value, done } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) throw new Error(`the stream ended before enough of it was read: ${text}`);
    text += decoder.decode(value, { stream: true });
  }
  leaving.abort();
}

const charged = async (model: Model): Promise<number> =>
  BOUGHT - (await node.settledBalance(model as Parameters<typeof node.settledBalance>[0]));
const balanceOf = async ({ id: modelId }: Model) =>
  (await node.live.getBalances([{ accountId: ACCOUNT_ID, modelId }]))[0];
const signal = () => Promise.withResolvers<void>();

describe('a JSON client that hangs up', () => {
  test('before the upstream answers pays what the upstream reports, and keeps its hold and its place until then', async () => {
    const [arrived, answer] = [signal(), signal()];
    const upstream = await upstreamOf((response) => {
      arrived.resolve();
      void answer.promise.then(() =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(COMPLETION),
      );
    });
    const model = await node.addModel([
      { baseUrl: upstream.baseUrl, overrides: { stops_billing_on_close: true } },
    ]);
    await leave(ask(model), arrived.promise);
    expect(await balanceOf(model)).toMatchObject({ running: 1 });
    expect((await balanceOf(model))?.held).toBeGreaterThan(0);
    answer.resolve();
    expect(await charged(model)).toBe(16);
  });

  test('after the upstream began to answer pays what it reports', async () => {
    const [arrived, answer] = [signal(), signal()];
    const upstream = await upstreamOf((response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write(' ');
      arrived.resolve();
      void answer.promise.then(() => response.end(COMPLETION));
    });
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    await leave(ask(model), arrived.promise);
    answer.resolve();
    expect(await charged(model)).toBe(16);
  });

  test('from an upstream that never answers pays for the prompt, once the time to drain is over', async () => {
    const arrived = signal();
    const upstream = await upstreamOf(() => arrived.resolve());
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    await leave(ask(model), arrived.promise);
    await upstream.aborted;
    expect(await charged(model)).toBe(PROMPT_TOKENS);
  });

  test('from an upstream that fails afterwards pays nothing', async () => {
    const [arrived, answer] = [signal(), signal()];
    const upstream = await upstreamOf((response) => {
      arrived.resolve();
      void answer.promise.then(() => response.writeHead(500).end('{"error":{"message":"no"}}'));
    });
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    await leave(ask(model), arrived.promise);
    answer.resolve();
    expect(await charged(model)).toBe(0);
  });
});

describe('a stream whose client hangs up', () => {
  const endless = (onStart: () => void) => (response: ServerResponse) => {
    sse(response).write(START);
    onStart();
    const timer = setInterval(() => response.write(chunk({ content: 'one two ' })), 10);
    response.on('close', () => clearInterval(timer));
  };

  test('S33 and behaviour 30: is closed at once where that stops the bill, and costs the prompt and what was generated', async () => {
    const upstream = await upstreamOf(
      (response) => void sse(response).write(START + chunk({ content: 'one two' })),
    );
    const model = await node.addModel([
      { baseUrl: upstream.baseUrl, overrides: { stops_billing_on_close: true } },
    ]);
    const before = Date.now();
    await readThenLeave(ask(model, { stream: true }), (text) => text.includes('one two'));
    await upstream.aborted;
    expect(Date.now() - before).toBeLessThan(1_000);
    expect(await charged(model)).toBe(PROMPT_TOKENS + 2);
  });

  test('is read on to its usage where closing does not stop the bill', async () => {
    const answer = signal();
    const upstream = await upstreamOf((response) => {
      sse(response).write(START + chunk({ content: 'one two' }));
      void answer.promise.then(() =>
        response.end(chunk({ content: ' three' }, 'stop') + usage(11, 900) + event('[DONE]')),
      );
    });
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    await readThenLeave(ask(model, { stream: true }), (text) => text.includes('one two'));
    expect(await balanceOf(model)).toMatchObject({ running: 1 });
    answer.resolve();
    expect(await charged(model)).toBe(911);
  });

  test('is read on for so many tokens at most, and costs no more than the upstream emitted', async () => {
    let emitted = 0;
    const upstream = await upstreamOf((response) => {
      sse(response).write(START);
      const timer = setInterval(() => {
        response.write(chunk({ content: ' one two' }));
        emitted += 2;
      }, 10);
      response.on('close', () => clearInterval(timer));
    });
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    await readThenLeave(ask(model, { stream: true }), (text) => text.includes('one two'));
    await upstream.aborted;
    const cost = await charged(model);
    expect(cost).toBeGreaterThanOrEqual(PROMPT_TOKENS + DRAIN_TOKENS);
    expect(cost).toBeLessThanOrEqual(PROMPT_TOKENS + emitted);
  });

  test('before the upstream answers costs the prompt, also where it is closed at once', async () => {
    const arrived = signal();
    const upstream = await upstreamOf(() => arrived.resolve());
    const model = await node.addModel([
      { baseUrl: upstream.baseUrl, overrides: { stops_billing_on_close: true } },
    ]);
    await leave(ask(model, { stream: true }), arrived.promise);
    await upstream.aborted;
    expect(await charged(model)).toBe(PROMPT_TOKENS);
  });

  test('from an upstream that falls silent is given up in time', async () => {
    const upstream = await upstreamOf(
      (response) => void sse(response).write(START + chunk({ content: 'one two' })),
    );
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }]);
    await readThenLeave(ask(model, { stream: true }), (text) => text.includes('one two'));
    await upstream.aborted;
    expect(await charged(model)).toBe(PROMPT_TOKENS + 2);
  });

  test('ends when its key is disabled, long before the time to drain is over', async () => {
    const slow = await startNodeUnderTest({ STREAM_DRAIN_TOKENS: '1000000' });
    try {
      const started = signal();
      const upstream = await upstreamOf(endless(() => started.resolve()));
      const model = await slow.addModel([{ baseUrl: upstream.baseUrl }]);
      const { key, hash } = await slow.putKey({});
      const leaving = new AbortController();
      const response = await fetch(`${slow.url}/v1/chat/completions`, {
        method: 'POST',
        signal: leaving.signal,
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify(ask(model, { stream: true, max_tokens: 100_000 })),
      });
      await response.body?.getReader().read();
      leaving.abort();
      const live = await slow.live.getKey(ACCOUNT_ID, hash);
      if (!live) throw new Error('the key must be live');
      await slow.live.putKey({ ...live, status: 'disabled', revision: 2 });
      await upstream.aborted;
      expect(await slow.settledBalance(model)).toBeLessThan(BOUGHT);
    } finally {
      await slow.stop();
    }
  });

  test('ends when its node stops, and its final is booked', async () => {
    const stopping = await startNodeUnderTest({
      STREAM_DRAIN_TOKENS: '1000000',
      DRAIN_TIMEOUT_MS: '300',
    });
    const upstream = await upstreamOf(endless(() => undefined));
    const model = await stopping.addModel([{ baseUrl: upstream.baseUrl }]);
    const leaving = new AbortController();
    const response = await fetch(`${stopping.url}/v1/chat/completions`, {
      method: 'POST',
      signal: leaving.signal,
      headers: { authorization: `Bearer ${stopping.apiKey}` },
      body: JSON.stringify(ask(model, { stream: true, max_tokens: 100_000 })),
    });
    await response.body?.getReader().read();
    leaving.abort();
    const rid = response.headers.get('x-request-id');
    const stopped = stopping.stop();
    await upstream.aborted;
    await until(async () =>
      stopping.journalledFinal(rid).then(
        () => true,
        () => false,
      ),
    );
    expect(await stopping.journalledFinal(rid)).toMatchObject({
      outcome: 'client_closed',
      basis: 'estimated',
      input_tokens: PROMPT_TOKENS,
    });
    await stopped;
  });
});

describe('hidden reasoning', () => {
  const REASONING = 17_000;
  const VISIBLE = 'the answer';

  /** Thinks unseen for `silentMs`, sends two words, and reports its usage when asked to end. */
  const reasoner = (silentMs: number, ends: () => Promise<void>) => (response: ServerResponse) => {
    sse(response).write(START);
    setTimeout(() => {
      response.write(chunk({ content: VISIBLE }));
      void ends().then(() =>
        response.end(chunk({}, 'stop') + usage(PROMPT_TOKENS, REASONING + 2) + event('[DONE]')),
      );
    }, silentMs);
  };

  test('is paid by a client that leaves when it has read what it wanted', async () => {
    const asked = { stream: true, max_tokens: 20_000 };
    const silentMs = 300;
    let isEnding = true;
    const upstream = await upstreamOf((response) =>
      reasoner(silentMs, () => (isEnding ? Promise.resolve() : new Promise(() => undefined)))(
        response,
      ),
    );
    const model = await node.addModel([
      { baseUrl: upstream.baseUrl, overrides: { stops_billing_on_close: true } },
    ]);
    for (let answer = 0; answer < 5; answer++)
      await (await node.post('/v1/chat/completions', ask(model, asked))).text();
    const known = await charged(model);
    expect(known).toBe(5 * (PROMPT_TOKENS + REASONING + 2));
    isEnding = false;
    await readThenLeave(ask(model, asked), (text) => text.includes(VISIBLE));
    await until(async () => (await balanceOf(model))?.running === 0);
    const cost = (await charged(model)) - known;
    expect(cost).toBeGreaterThan(REASONING / 2);
    // The limit caps the estimate, however slow the machine is.
    expect(cost).toBeLessThanOrEqual(PROMPT_TOKENS + asked.max_tokens);
  });

  test('is not assumed of a model that shows what it generates', async () => {
    let isEnding = true;
    const upstream = await upstreamOf((response) => {
      sse(response).write(START + chunk({ content: VISIBLE }));
      if (isEnding) response.end(chunk({}, 'stop') + usage(PROMPT_TOKENS, 2) + event('[DONE]'));
    });
    const model = await node.addModel([
      { baseUrl: upstream.baseUrl, overrides: { stops_billing_on_close: true } },
    ]);
    for (let answer = 0; answer < 6; answer++)
      await (await node.post('/v1/chat/completions', ask(model, { stream: true }))).text();
    const known = await charged(model);
    isEnding = false;
    await readThenLeave(ask(model, { stream: true }), (text) => text.includes(VISIBLE));
    await upstream.aborted;
    expect((await charged(model)) - known).toBe(PROMPT_TOKENS + 2);
  });
});
