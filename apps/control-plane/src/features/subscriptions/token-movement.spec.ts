import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { moveTokens, repaymentOf } from './token-movement.ts';

const tokens = fc.integer({ min: 0, max: 1_000 });

describe('moveTokens', () => {
  test('moves balance less overdraft by exactly the delta, and never takes more than there is', () => {
    fc.assert(
      fc.property(tokens, fc.integer({ min: -1_000, max: 1_000 }), tokens, fc.integer({ min: -1_000, max: 1_000 }), (balance, overdraft, consumed, delta) => {
        const { fromBalance, overdraft: moved } = moveTokens({ balance, overdraft, consumed }, delta);
        expect(fromBalance + moved).toBe(delta);
        expect(balance - fromBalance).toBeGreaterThanOrEqual(0);
        expect(-fromBalance).toBeLessThanOrEqual(consumed);
      }),
    );
  });

  test.each([
    ['a charge the balance covers', { balance: 100, overdraft: 0, consumed: 0 }, 40, { fromBalance: 40, overdraft: 0 }],
    ['a charge beyond the balance', { balance: 100, overdraft: 0, consumed: 0 }, 140, { fromBalance: 100, overdraft: 40 }],
    ['a charge whose correction came first', { balance: 100, overdraft: -30, consumed: 0 }, 80, { fromBalance: 50, overdraft: 30 }],
    ['a correction of an overdrawn charge', { balance: 0, overdraft: 20, consumed: 100 }, -50, { fromBalance: -30, overdraft: -20 }],
    ['a correction before its charge', { balance: 100, overdraft: 0, consumed: 0 }, -30, { fromBalance: 0, overdraft: -30 }],
  ])('%s', (_what, state, delta, expected) => {
    expect(moveTokens(state, delta)).toEqual(expected);
  });
});

test('a purchase repays what is overdrawn, no more than it brings', () => {
  expect([repaymentOf({ overdraft: 30 }, 100), repaymentOf({ overdraft: 300 }, 100), repaymentOf({ overdraft: -5 }, 100)]).toEqual([30, 100, 0]);
});
