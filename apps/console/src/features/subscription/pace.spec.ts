import { expect, test } from '@jest/globals';
import { isNear, paceOf } from './pace.ts';

test.each([
  [{ tokens: 0, usedInDay: 100 }, { kind: 'empty' }, true],
  [{ tokens: -5, usedInDay: 0 }, { kind: 'empty' }, true],
  [{ tokens: 100, usedInDay: 0 }, { kind: 'unused' }, false],
  [{ tokens: 99, usedInDay: 100 }, { kind: 'hours' }, true],
  [{ tokens: 250, usedInDay: 100 }, { kind: 'days', days: 2 }, true],
  [{ tokens: 1_000, usedInDay: 100 }, { kind: 'days', days: 10 }, false],
  [{ tokens: 1_000_000, usedInDay: 1 }, { kind: 'long' }, false],
] as const)('a subscription with %j lasts %j', (given, pace, near) => {
  expect(paceOf(given)).toEqual(pace);
  expect(isNear(paceOf(given))).toBe(near);
});
