import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { ClientGone } from '../../http/read-body.ts';
import { RechargeWaits } from './recharge-waits.ts';

const WAIT_MS = 300;
const SUBSCRIPTION = { accountId: 1, modelId: 1 };
const HINT = { ...SUBSCRIPTION, neededTokens: 5 };
const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);
const THERE = { isGone: false, onGone: () => undefined };

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

function waitsOf({ waitersMax = 8 } = {}) {
  const seen = { hints: 0, asked: 0, answer: undefined as string | undefined };
  const waits = new RechargeWaits({
    waitMs: WAIT_MS,
    waitersMax,
    hint: () => void (seen.hints += 1),
  });
  const again = (): Promise<string | undefined> => {
    seen.asked += 1;
    return Promise.resolve(seen.answer);
  };
  return { waits, seen, again };
}

test('a waiting request asks when its subscription has changed, and not in between', async () => {
  const { waits, seen, again } = waitsOf();
  const served = waits.until(HINT, THERE, again);
  await pass(WAIT_MS / 2 - 1);
  expect(seen).toMatchObject({ hints: 1, asked: 1 });
  waits.changed({ accountId: 2, modelId: 1 });
  await pass(0);
  expect(seen.asked).toBe(1);
  seen.answer = 'admitted';
  waits.changed(SUBSCRIPTION);
  expect(await served).toBe('admitted');
  expect([seen.asked, waits.size]).toEqual([2, 0]);
});

test('a change that came before the request listened is not missed', async () => {
  const { waits, seen, again } = waitsOf();
  seen.answer = 'admitted';
  expect(await waits.until(HINT, THERE, again)).toBe('admitted');
});

test('a change while it asks makes it ask once more', async () => {
  const { waits, seen } = waitsOf();
  const answer = await waits.until(HINT, THERE, async () => {
    seen.asked += 1;
    if (seen.asked > 1) return 'admitted';
    waits.changed(SUBSCRIPTION);
    return undefined;
  });
  expect([answer, seen.asked]).toEqual(['admitted', 2]);
});

test('without a message it asks once more when the time is over, and then gives up', async () => {
  const { waits, seen, again } = waitsOf();
  const waiting = waits.until(HINT, THERE, again);
  await pass(WAIT_MS - 1);
  expect([seen.asked, seen.hints, waits.size]).toEqual([1, 2, 1]);
  await pass(1);
  expect(await waiting).toBeUndefined();
  expect([seen.asked, seen.hints, waits.size]).toEqual([2, 2, 0]);
});

test('the wait ends when the client leaves, and nothing is asked for it any more', async () => {
  const { waits, seen, again } = waitsOf();
  let leave = (): void => undefined;
  const client = { isGone: false, onGone: (listener: () => void) => void (leave = listener) };
  const waiting = waits.until(HINT, client, again);
  await pass(0);
  client.isGone = true;
  leave();
  await expect(waiting).rejects.toBeInstanceOf(ClientGone);
  expect([seen.asked, waits.size]).toEqual([1, 0]);
});

test('the number of waiting requests is bounded, for a subscription and for the process', async () => {
  const { waits, again } = waitsOf({ waitersMax: 8 });
  const begin = (accountId: number) => waits.until({ ...HINT, accountId }, THERE, again);
  const waiting = [1, 1, 2, 2, 3, 3, 4].map(begin);
  await expect(begin(1)).rejects.toMatchObject({ code: 'recharge_pending' });
  waiting.push(begin(4));
  await expect(begin(5)).rejects.toMatchObject({ code: 'recharge_pending' });
  expect(waits.size).toBe(8);
  await pass(WAIT_MS);
  await Promise.all(waiting);
  expect(waits.size).toBe(0);
});
