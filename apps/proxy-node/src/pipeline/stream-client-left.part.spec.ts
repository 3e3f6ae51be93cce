import { describe, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { until } from '@tollgate/harness';
import { chunk, event, sse, START, usage } from '../testing/chat-stream.ts';
import { ACCOUNT_ID, startNodeUnderTest } from '../testing/node-under-test.ts';
import {
  ask,
  balanceOf,
  BOUGHT,
  charged,
  DRAIN_TOKENS,
  leave,
  node,
  PROMPT_TOKENS,
  readThenLeave,
  signal,
  upstreamOf,
} from './client-left-under-test.ts';

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
    await until('the final is in the journal', async () =>
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
