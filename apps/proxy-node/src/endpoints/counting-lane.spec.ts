import { expect, test } from '@jest/globals';
import { Refusal } from '../refusals.ts';
import { CountingLane } from './counting-lane.ts';

const busyFor = (ms: number): void => {
  for (const end = performance.now() + ms; performance.now() < end;);
};

test('counts are made one at a time, accounts in turn', async () => {
  const lane = new CountingLane();
  const order: string[] = [];
  let running = 0;
  const count = (account: number, name: string) =>
    lane.run(account, async (pause) => {
      running += 1;
      expect(running).toBe(1);
      await pause();
      running -= 1;
      order.push(name);
    });
  await Promise.all([
    ...['a1', 'a2', 'a3'].map((name) => count(1, name)),
    ...['b1', 'b2'].map((name) => count(2, name)),
  ]);
  expect(order).toEqual(['a1', 'a2', 'b1', 'a3', 'b2']);
});

test('25 counts sent at once leave others at least half of the time', async () => {
  const lane = new CountingLane();
  const began = performance.now();
  let workedMs = 0;
  const count = (): Promise<void> =>
    lane.run(1, async (pause) => {
      for (let batch = 0; batch < 5; batch += 1) {
        const batchBegan = performance.now();
        busyFor(4);
        workedMs += performance.now() - batchBegan;
        await pause();
      }
    });
  await Promise.all(Array.from({ length: 25 }, count));
  expect(workedMs).toBeGreaterThanOrEqual(500);
  expect(workedMs / (performance.now() - began)).toBeLessThanOrEqual(0.55);
});

test('a count that fails, or is one too many, costs no other its turn', async () => {
  const lane = new CountingLane();
  const failed = expect(lane.run(1, () => Promise.reject(new Error('unreadable')))).rejects.toThrow(
    'unreadable',
  );
  const waiting = Array.from({ length: 32 }, () => lane.run(1, () => Promise.resolve('counted')));
  expect(() => lane.run(1, () => Promise.resolve())).toThrow(Refusal);
  const other = lane.run(2, () => Promise.resolve('counted'));
  await failed;
  expect(await Promise.all([...waiting, other])).toHaveLength(33);
});

test('what is tokenised for an account in a minute is bounded; beyond it a sample is', () => {
  const lane = new CountingLane();
  const asked = 2 ** 19;
  const granted = Array.from({ length: 60 }, () => lane.grant(1, asked));
  expect(granted[0]).toBe(asked);
  expect(granted.at(-1)).toBe(2 ** 14);
  expect(granted.reduce((sum, chars) => sum + chars)).toBeLessThan(6 * 2 ** 20);
  expect(lane.grant(2, asked)).toBe(asked);
  expect(lane.grant(1, 40)).toBe(40);
});
