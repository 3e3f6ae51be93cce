import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { NO_USAGE } from '@tollgate/contracts';
import { planHold } from '@tollgate/metering';
import { TokenCounter } from '@tollgate/metering/token-counter';
import { parseAsk } from '@tollgate/protocols';
import { startLocalUpstream, type LocalUpstream } from '../../testing/local-upstream.ts';
import { startNodeUnderTest, type NodeUnderTest } from '../../testing/node-under-test.ts';
import { HoldBudget } from './hold-budget.ts';
import { chunk } from '../../testing/chat-stream.ts';

/** Reads a stream of events through a hold that cannot grow; says how much was read and how often it was counted. `boundTokens` are the output tokens that the upstream was allowed. */
function readThrough(
  events: readonly { text: string; bytes: number }[],
  heldTokens: number,
  boundTokens = Infinity,
): { tokens: number; looks: number } {
  const counter = new TokenCounter();
  let looks = 0;
  const usage = (): typeof NO_USAGE => ({ ...NO_USAGE, output: counter.tokensIfEnded });
  const hold = {
    room: ({ output }: { output: number }): number => {
      looks += 1;
      return heldTokens - output;
    },
    isBoundHeld: ({ output }: { output: number }): boolean =>
      heldTokens >= boundTokens && output <= boundTokens,
  };
  const budget = new HoldBudget({ hold, usage, reported: () => null });
  for (const { text, bytes } of events) {
    for (let left = bytes; left > 0;) {
      const taken = budget.take(left);
      if (taken === 0) return { tokens: counter.finish(), looks };
      left -= taken;
    }
    counter.push(text);
    budget.generated(Buffer.byteLength(text));
  }
  return { tokens: counter.finish(), looks };
}

describe('HoldBudget', () => {
  const word = { text: ' word', bytes: 190 };

  test('lets a stream use its hold up to the last events and not a token more', () => {
    const { tokens } = readThrough(
      Array.from({ length: 10_000 }, () => word),
      4_096,
    );
    expect(tokens).toBeLessThanOrEqual(4_096);
    expect(tokens).toBeGreaterThan(4_096 - 12);
  });

  test('holds that are small are used too', () => {
    const { tokens } = readThrough(
      Array.from({ length: 100 }, () => word),
      20,
    );
    expect(tokens).toBeLessThanOrEqual(20);
    expect(tokens).toBeGreaterThan(8);
  });

  test('events are taken for the tokens they are, not for their bytes', () => {
    const events = Array.from({ length: 10 }, () => ({ text: ' one'.repeat(40), bytes: 350 }));
    expect(readThrough(events, 80).tokens).toBe(80);
    expect(readThrough(events, 119).tokens).toBe(80);
  });

  test('a hold of all that the upstream was allowed is used up to its last token, and the finish after it is read', () => {
    const events = [40, 40, 20, 0].map((words) => ({ text: ' one'.repeat(words), bytes: 350 }));
    expect(readThrough(events, 100, 100).tokens).toBe(100);
    const hold = { room: () => 0, isBoundHeld: () => true };
    expect(
      new HoldBudget({
        hold,
        usage: () => ({ ...NO_USAGE, output: 100 }),
        reported: () => null,
      }).take(350),
    ).toBe(350);
  });

  test('an upstream that exceeds what it was allowed is stopped at the first piece that says so', () => {
    const events = Array.from({ length: 10 }, () => ({ text: ' one'.repeat(40), bytes: 350 }));
    expect(readThrough(events, 100, 100).tokens).toBe(120);
  });

  test('an upstream that has exceeded what it was allowed ends a hold that has grown within an event or two, whatever comes in one chunk', () => {
    const event = { text: ' one'.repeat(20), bytes: 220 };
    const counter = new TokenCounter();
    const hold = {
      room: ({ output }: { output: number }): number => 3_000 - output,
      isBoundHeld: ({ output }: { output: number }): boolean => output <= 1_000,
    };
    const usage = () => ({ ...NO_USAGE, output: counter.tokensIfEnded });
    const budget = new HoldBudget({ hold, usage, reported: () => null });
    let unread = 0;
    for (let left = 300 * event.bytes; left > 0;) {
      const taken = budget.take(left);
      if (taken === 0) break;
      left -= taken;
      for (unread += taken; unread >= event.bytes; unread -= event.bytes) {
        counter.push(event.text);
        budget.generated(Buffer.byteLength(event.text));
      }
    }
    const tokens = counter.finish();
    expect(tokens).toBeGreaterThan(2_700);
    expect(tokens).toBeLessThanOrEqual(3_060);
  });

  test('what the upstream says of the prompt is taken into account at once', () => {
    let reported: typeof NO_USAGE | null = null;
    const hold = {
      room: ({ input }: { input: number }): number => 10_000 - input,
      isBoundHeld: () => false,
    };
    const budget = new HoldBudget({
      hold,
      usage: () => reported ?? NO_USAGE,
      reported: () => ({ usage: reported, hasFinish: false }),
    });
    expect(budget.take(5_000)).toBe(5_000);
    reported = { ...NO_USAGE, input: 10_000 };
    expect(budget.take(5_000)).toBe(0);
  });

  test('what follows the finish is read without room for it, unless it is more of the answer', () => {
    const report = { usage: null, hasFinish: true };
    const budget = new HoldBudget({
      hold: { room: () => -1, isBoundHeld: () => false },
      usage: () => NO_USAGE,
      reported: () => report,
    });
    expect(budget.take(300)).toBe(300);
    expect(budget.take(5_000)).toBe(512);
    budget.generated(Buffer.byteLength(' another choice'));
    expect(budget.take(300)).toBe(0);
  });

  test('an ordinary stream is counted once for hundreds of its events', () => {
    const { tokens, looks } = readThrough(
      Array.from({ length: 3_000 }, () => word),
      4_096,
    );
    expect(tokens).toBe(3_000);
    expect(looks).toBeLessThan(3_000 / 200);
  });

  test('a whole answer that comes in one chunk is counted once', () => {
    const counter = new TokenCounter();
    let looks = 0;
    const hold = {
      room: ({ output }: { output: number }): number => ((looks += 1), 4_200 - output),
      isBoundHeld: () => false,
    };
    const budget = new HoldBudget({
      hold,
      usage: () => ({ ...NO_USAGE, output: counter.tokensIfEnded }),
      reported: () => null,
    });
    for (let left = 100 * word.bytes; left > 0;) {
      const taken = budget.take(left);
      expect(taken).toBeGreaterThan(0);
      left -= taken;
      for (let bytes = taken; bytes > 0; bytes -= word.bytes) {
        counter.push(word.text);
        budget.generated(Buffer.byteLength(word.text));
      }
    }
    expect(looks).toBe(1);
  });

  test('chunks larger than the hold are read in pieces', () => {
    const events = Array.from({ length: 64 }, () => ({
      text: ' word'.repeat(300),
      bytes: 64 * 1024,
    }));
    const { tokens } = readThrough(events, 6_000);
    expect(tokens).toBeLessThanOrEqual(6_000);
    expect(tokens).toBeGreaterThan(3_000);
  });
});

describe('a balance of exactly what a request is bounded by', () => {
  const CHAT = {
    kind: 'chat' as const,
    context_window: null,
    max_output_tokens: null,
    unbounded_input_tokens: null,
  };
  const PLAIN = {
    weight_input: 1_000_000,
    weight_output: 1_000_000,
    weight_cache_read: 1_000_000,
    weight_cache_write: 1_000_000,
  };
  let node: NodeUnderTest;
  let upstream: LocalUpstream;

  beforeAll(async () => {
    node = await startNodeUnderTest();
    upstream = await startLocalUpstream((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const events = [
        chunk({ role: 'assistant', content: '' }),
        ...[40, 40, 20].map((words) => chunk({ content: ' one'.repeat(words) })),
        chunk({}, 'stop'),
        'data: [DONE]\n\n',
      ];
      const send = (): void => {
        const next = events.shift();
        if (next === undefined) return void response.end();
        response.write(next, send);
      };
      send();
    });
  });
  afterAll(async () => {
    await node.stop();
    await upstream.close();
  });

  test('buys the whole answer', async () => {
    const ask = { stream: true, max_tokens: 100, messages: [{ role: 'user', content: 'go' }] };
    const { promptBound, boundTokens } = planHold({
      ask: parseAsk('chat', Buffer.from(JSON.stringify({ ...ask, model: 'any' }))),
      model: CHAT,
      price: PLAIN,
      upstreamModels: ['gpt-4'],
    });
    expect(boundTokens).toBe(promptBound + 100);
    const model = await node.addModel([{ baseUrl: upstream.baseUrl }], {}, boundTokens);
    const text = await (
      await node.post('/v1/chat/completions', { ...ask, model: model.name })
    ).text();
    expect(text.match(/ one/g)).toHaveLength(100);
    expect(text.match(/"finish_reason":"\w+"/g)).toEqual(['"finish_reason":"stop"']);
    expect(await node.settledBalance(model)).toBeLessThan(promptBound);
  });
});
