/** @jest-environment node */
import { expect, test } from '@jest/globals';
import { PLANTED_LUA } from '../planted-lua.ts';
import { checkDrawnCalls } from './check-drawn-calls.ts';
import { RedisFunctions } from './redis-functions.ts';

const SEEDS = 40;

function firstBroken(functions: RedisFunctions): string | null {
  for (let seed = 1; seed <= SEEDS; seed += 1)
    try {
      checkDrawnCalls(functions, seed);
    } catch (error) {
      return (error as Error).message;
    }
  return null;
}

test('no call of a function breaks a rule of the ledger, whatever came before', () => {
  expect(firstBroken(new RedisFunctions())).toBeNull();
});

test.each(PLANTED_LUA)('a rule of the ledger is broken where $name', ({ functions }) => {
  expect(firstBroken(functions())).toMatch(/^Redis/);
});
