import { expect, test } from '@jest/globals';
import { describeFault } from './fault-plan.ts';
import { forbidEscapes } from './forbid-escapes.ts';
import { simulate, type RunResult } from './simulate.ts';

const FIRST_SEED = 1;
const STEPS_AT_LEAST = 50_000;
const RUNS_MAX = 12;
/** Of a machine with other work: a run takes seconds. */
const TIMEOUT_MS = 180_000;

/** What is printed is enough to replay it. */
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
    const flush = {
      kind: 'redis-flush',
      atMs: 78_864,
      forMs: 11_358,
      target: 269,
      size: 0,
    } as const;
    const result = await simulate({ seed: 15, faults: [flush] });
    expectKept(result);
    expect(result.drifts).toEqual([]);
  },
  TIMEOUT_MS,
);
