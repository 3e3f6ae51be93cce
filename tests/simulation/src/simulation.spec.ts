/** @jest-environment node */
// Timers that earlier suites of the worker left would ask for the time, which a test below forbids.
import { expect, test } from '@jest/globals';
import { describeFault } from './fault-plan.ts';
import { forbidEscapes } from './forbid-escapes.ts';
import { simulate, type RunResult } from './simulate.ts';

const FIRST_SEED = 1;
const STEPS_AT_LEAST = 50_000;
const RUNS_MAX = 12;
/** Allows for a machine with other work: a run takes seconds. */
const TIMEOUT_MS = 180_000;

/** Prints enough to replay the run. */
function expectKept({ seed, violation, faults }: RunResult): void {
  if (violation === null) return;
  throw new Error(
    `seed ${seed}: ${violation}\n${faults.map(describeFault).join('\n')}\nReplay: npm run test:simulation -- --seed ${seed}`,
  );
}

test(
  'tokens are neither made nor lost, and a request is charged once, whatever breaks in whatever order',
  async () => {
    let steps = 0;
    for (let seed = FIRST_SEED; seed < FIRST_SEED + RUNS_MAX && steps < STEPS_AT_LEAST; seed += 1) {
      const result = await simulate({ seed });
      expectKept(result);
      steps += result.steps;
    }
    expect(steps).toBeGreaterThanOrEqual(STEPS_AT_LEAST);
  },
  TIMEOUT_MS,
);

test(
  'the same seed is the same run, event for event; another seed is another',
  async () => {
    const forMs = 20_000;
    const [first, again, other] = [
      await simulate({ seed: 11, forMs }),
      await simulate({ seed: 11, forMs }),
      await simulate({ seed: 12, forMs }),
    ];
    expect(again.traceHash).toBe(first.traceHash);
    expect(other.traceHash).not.toBe(first.traceHash);
  },
  TIMEOUT_MS,
);

test(
  'no clock, no timer and no chance of the machine reaches what is simulated',
  async () => {
    const asked = await forbidEscapes(async () => {
      expectKept(await simulate({ seed: 13, forMs: 20_000 }));
    });
    expect(asked).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  'tokens that running requests released into a withdrawal are not taken again from a shard that was filled since',
  async () => {
    const loss = { forMs: 300, target: 0, size: 0.9 } as const;
    const faults = [0, 1, 2, 3, 4, 5].flatMap((nth) => [
      { ...loss, kind: 'unsubscribe' as const, atMs: 8_000 + nth * 13_000, target: nth, size: 0 },
      { ...loss, kind: 'redis-flush' as const, atMs: 11_300 + nth * 13_000 },
      { ...loss, kind: 'redis-crash' as const, atMs: 16_000 + nth * 13_000 },
    ]);
    const result = await simulate({ seed: 1, faults });
    expectKept(result);
    expect(result.repairs).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  'what Redis loses with the end of its file is sent again also when it was away for longer than finals are kept, and its nodes with it',
  async () => {
    const crash = { kind: 'redis-crash', target: 0, size: 0.99 } as const;
    const faults = [
      { ...crash, atMs: 15_000, forMs: 20_000 },
      { ...crash, atMs: 50_000, forMs: 30_000 },
      ...[0, 1, 2].map((target) => {
        return { kind: 'kill-node', atMs: 50_500, forMs: 22_000, target, size: 0 } as const;
      }),
    ];
    const result = await simulate({ seed: 3, faults });
    expectKept(result);
    expect(result.repairs).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  'what was released into a withdrawal is not taken again after the clock of Redis was ahead and its marker expired',
  async () => {
    const jump = { kind: 'redis-clock', forMs: 5_000, target: 0, size: 0.45 } as const;
    const restart = { kind: 'kill-control-plane', forMs: 1_000, size: 0 } as const;
    const faults = [
      ...[0, 1, 2].map((target) => {
        return { kind: 'unsubscribe', atMs: 15_000, forMs: 0, target, size: 0 } as const;
      }),
      { ...jump, atMs: 40_000 },
      ...[0, 1].map((target) => ({ ...restart, atMs: 50_000, target })),
    ];
    const result = await simulate({ seed: 5, faults });
    expectKept(result);
    expect(result.repairs).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  'a subscription whose last finals are of a dropped day comes to rest: what its ledger still holds is refunded, and becomes overdraft once they are booked',
  async () => {
    const cut = { kind: 'cut-redis', atMs: 29_522, forMs: 88_312, size: 0 } as const;
    const result = await simulate({
      seed: 147,
      faults: [
        { ...cut, target: 0 },
        { ...cut, target: 1 },
        { kind: 'drop-days', atMs: 77_648, forMs: 0, target: 0, size: 0 },
      ],
    });
    expectKept(result);
    expect(result.repairs).not.toEqual([]);
  },
  TIMEOUT_MS,
);
