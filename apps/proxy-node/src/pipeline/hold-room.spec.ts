import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { NO_USAGE } from '@tollgate/contracts';
import { TokenCounter } from '@tollgate/metering';
import { startLocalUpstream, type LocalUpstream } from '../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../testing/node-under-test.ts';
import { HoldRoom } from './hold-room.ts';

/** Reads a stream of events through a hold that cannot grow; says how much was read and how often it was counted. */
function readThrough(events: readonly { text: string; bytes: number }[], heldTokens: number): { tokens: number; looks: number } {
  const counter = new TokenCounter();
  let looks = 0;
  const usage = (): typeof NO_USAGE => ({ ...NO_USAGE, output: counter.tokensIfEnded });
  const hold = {
    room: ({ output }: { output: number }): number => {
      looks += 1;
      return heldTokens - output;
    },
  };
  const room = new HoldRoom({ hold, usage });
  for (const { text, bytes } of events) {
    for (let left = bytes; left > 0; ) {
      const taken = room.take(left);
      if (taken === 0) return { tokens: counter.finish(), looks };
      left -= taken;
    }
    counter.push(text);
    room.generated(text);
  }
  return { tokens: counter.finish(), looks };
}

describe('HoldRoom', () => {
  const word = { text: ' word', bytes: 190 };

  test('lets a stream use its hold up to the last events and not a token more', () => {
    const { tokens } = readThrough(Array.from({ length: 10_000 }, () => word), 4_096);
    expect(tokens).toBeLessThanOrEqual(4_096);
    expect(tokens).toBeGreaterThan(4_096 - 12);
  });

  test('holds that are small are used too', () => {
    const { tokens } = readThrough(Array.from({ length: 100 }, () => word), 20);
    expect(tokens).toBeLessThanOrEqual(20);
    expect(tokens).toBeGreaterThan(8);
  });

  test('an ordinary stream is counted once for hundreds of its events', () => {
    const { tokens, looks } = readThrough(Array.from({ length: 3_000 }, () => word), 4_096);
    expect(tokens).toBe(3_000);
    expect(looks).toBeLessThan(3_000 / 200);
  });

  test('a whole answer that comes in one chunk is counted once', () => {
    const counter = new TokenCounter();
    let looks = 0;
    const hold = { room: ({ output }: { output: number }): number => ((looks += 1), 4_200 - output) };
    const room = new HoldRoom({ hold, usage: () => ({ ...NO_USAGE, output: counter.tokensIfEnded }) });
    for (let left = 100 * word.bytes; left > 0; ) {
      const taken = room.take(left);
      expect(taken).toBeGreaterThan(0);
      left -= taken;
      for (let bytes = taken; bytes > 0; bytes -= word.bytes) {
        counter.push(word.text);
        room.generated(word.text);
      }
    }
    expect(looks).toBe(1);
  });

  test('chunks larger than the hold are read in pieces', () => {
    const events = Array.from({ length: 64 }, () => ({ text: ' word'.repeat(300), bytes: 64 * 1024 }));
    const { tokens } = readThrough(events, 6_000);
    expect(tokens).toBeLessThanOrEqual(6_000);
    expect(tokens).toBeGreaterThan(3_000);
  });
});

describe('an upstream that sends megabytes a second', () => {
  const STREAMS = 20;
  const BALANCE = 400_000;
  const event = (delta: object): string => `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'real', choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
  let node: NodeUnderTest;
  let upstream: LocalUpstream;

  beforeAll(async () => {
    node = await startNodeUnderTest();
    const waiting: ServerResponse[] = [];
    upstream = await startLocalUpstream((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(event({ role: 'assistant', content: '' }));
      // None begins before all are admitted: the first could use the balance up alone.
      if (waiting.push(response) === STREAMS) for (const each of waiting) pump(each, event({ content: ' word' }).repeat(200));
    });
  });
  afterAll(async () => {
    await node.stop();
    await upstream.close();
  });

  function pump(response: ServerResponse, events: string): void {
    while (!response.destroyed && response.write(events));
    if (!response.destroyed) response.once('drain', () => pump(response, events));
  }

  test('cannot run ahead of the hold: twenty streams use a balance up together and overdraw it by nothing', async () => {
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }], {}, BALANCE);
    const ask = { model: model.name, stream: true, max_tokens: 10_000_000, messages: [{ role: 'user', content: 'go' }] };
    const texts = await Promise.all(Array.from({ length: STREAMS }, async () => (await node.post('/v1/chat/completions', ask)).text()));
    expect(texts.filter((text) => text.includes('"finish_reason":"length"') && text.endsWith('data: [DONE]\n\n')).length).toBe(STREAMS);
    const balance = await node.settledBalance(model);
    expect(balance).toBeGreaterThanOrEqual(0);
    expect(balance).toBeLessThan(BALANCE / 10);
  });
});
