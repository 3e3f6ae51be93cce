/** @jest-environment node */
import { expect, test } from '@jest/globals';
import { PLANTED_LUA } from '../planted-lua.ts';
import { Violation } from '../violation.ts';
import { Scheduler } from '../scheduler.ts';
import { checkDrawnCalls } from './check-drawn-calls.ts';
import { LiveStore } from './live-store.ts';
import { RedisFunctions } from './redis-functions.ts';

const SEEDS = 40;

/** Returns the first error of this kind. */
function firstBroken(functions: RedisFunctions, kind: new () => Error = Error): string | null {
  for (let seed = 1; seed <= SEEDS; seed += 1)
    try {
      checkDrawnCalls(functions, seed);
    } catch (error) {
      if (error instanceof kind) return error.message;
    }
  return null;
}

test('no call of a function breaks a rule of the ledger, whatever came before', () => {
  expect(firstBroken(new RedisFunctions())).toBeNull();
});

test.each(PLANTED_LUA)('a rule of the ledger is broken where $name', ({ functions }) => {
  // A planted fault can also make a function fail, as a settled hold has no generation. That shows no rule at work.
  expect(firstBroken(functions(), Violation)).toMatch(/^Redis/);
});

test('a key counts as expired early only where the clock is ahead of its time', () => {
  const store = new LiveStore(1, new Scheduler(1_900_000_000_000));
  const early: string[] = [];
  store.onExpiredEarly.push((key) => early.push(key));
  store.command(['set', 'marker', 'done', 'PX', '60000']);
  store.command(['set', 'later', 'done', 'PX', '600000']);
  store.clockErrorMs = -120_000;
  store.command(['set', 'behind', 'done', 'PX', '30000']);
  store.clockErrorMs = 90_000;
  store.command(['get', 'later']);
  expect(store.command(['get', 'marker'])).toBeNull();
  expect(early).toEqual(['marker']);
});
