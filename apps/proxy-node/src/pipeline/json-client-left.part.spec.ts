import { describe, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { until, letPass } from '@tollgate/harness';
import { chunk, event, sse, START, usage } from '../testing/chat-stream.ts';
import {
  ask,
  balanceOf,
  charged,
  COMPLETION,
  leave,
  node,
  PROMPT_TOKENS,
  readThenLeave,
  signal,
  upstreamOf,
} from './client-left-under-test.ts';

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

describe('hidden reasoning', () => {
  const REASONING = 17_000;
  const VISIBLE = 'the answer';

  /** Thinks unseen for `silentMs`, sends two words, and reports its usage when asked to end. */
  const reasoner = (silentMs: number, ends: () => Promise<void>) => (response: ServerResponse) => {
    sse(response).write(START);
    void letPass(silentMs, 'hidden tokens are estimated by time')
      .then(() => response.write(chunk({ content: VISIBLE })))
      .then(ends)
      .then(() =>
        response.end(chunk({}, 'stop') + usage(PROMPT_TOKENS, REASONING + 2) + event('[DONE]')),
      );
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
    await until('no request runs', async () => (await balanceOf(model))?.running === 0);
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
