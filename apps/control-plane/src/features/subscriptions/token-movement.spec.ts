import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { moveTokens, repaymentOf, withdrawTokens, type TokenState } from './token-movement.ts';

const tokens = fc.integer({ min: 0, max: 1_000 });

describe('moveTokens', () => {
  test('moves balance less overdraft by exactly the delta, and never takes more than there is', () => {
    fc.assert(
      fc.property(
        tokens,
        fc.integer({ min: -1_000, max: 1_000 }),
        tokens,
        fc.integer({ min: -1_000, max: 1_000 }),
        (balance, overdraft, consumed, delta) => {
          const { fromBalance, overdraft: moved } = moveTokens(
            { balance, overdraft, consumed },
            delta,
          );
          expect(fromBalance + moved).toBe(delta);
          expect(balance - fromBalance).toBeGreaterThanOrEqual(0);
          expect(-fromBalance).toBeLessThanOrEqual(consumed);
        },
      ),
    );
  });

  test.each([
    [
      'a charge the balance covers',
      { balance: 100, overdraft: 0, consumed: 0 },
      40,
      { fromBalance: 40, overdraft: 0 },
    ],
    [
      'a charge beyond the balance',
      { balance: 100, overdraft: 0, consumed: 0 },
      140,
      { fromBalance: 100, overdraft: 40 },
    ],
    [
      'a charge whose correction came first',
      { balance: 100, overdraft: -30, consumed: 0 },
      80,
      { fromBalance: 50, overdraft: 30 },
    ],
    [
      'a correction of an overdrawn charge',
      { balance: 0, overdraft: 20, consumed: 100 },
      -50,
      { fromBalance: -30, overdraft: -20 },
    ],
    [
      'a correction of one token',
      { balance: 100, overdraft: 0, consumed: 5 },
      -1,
      { fromBalance: -1, overdraft: 0 },
    ],
    [
      'a correction before its charge',
      { balance: 100, overdraft: 0, consumed: 0 },
      -30,
      { fromBalance: 0, overdraft: -30 },
    ],
  ])('moves what it must from balance and overdraft: %s', (_what, state, delta, expected) => {
    expect(moveTokens(state, delta)).toEqual(expected);
  });
});

interface Booked extends TokenState {
  withdrawn: number;
}

function book(
  state: Booked,
  { kind, tokens: moved }: { kind: 'usage' | 'withdrawal'; tokens: number },
): Booked {
  if (kind === 'usage') {
    const { fromBalance, overdraft } = moveTokens(state, moved);
    return {
      ...state,
      balance: state.balance - fromBalance,
      consumed: state.consumed + fromBalance,
      overdraft: state.overdraft + overdraft,
    };
  }
  const { reclaimed, uncovered } = withdrawTokens(state, moved);
  const given = moved - uncovered;
  return {
    balance: state.balance + reclaimed - given,
    consumed: state.consumed - reclaimed,
    overdraft: state.overdraft + reclaimed + uncovered,
    withdrawn: state.withdrawn + given,
  };
}

test('charges, corrections and withdrawals end in one state in whatever order they come, and every withdrawal is given in full', () => {
  const usage = fc
    .integer({ min: -500, max: 500 })
    .map((moved) => ({ kind: 'usage' as const, tokens: moved }));
  const withdrawal = tokens.map((moved) => ({ kind: 'withdrawal' as const, tokens: moved }));
  const moves = fc.array(fc.oneof(usage, withdrawal), { minLength: 2, maxLength: 8 });
  fc.assert(
    fc.property(
      moves.chain((list) =>
        fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
      ),
      fc.nat({ max: 500 }),
      ([list, shuffled], spare) => {
        const withdrawn = list.reduce(
          (sum, move) => sum + (move.kind === 'withdrawal' ? move.tokens : 0),
          0,
        );
        const opening = { balance: withdrawn + spare, overdraft: 0, consumed: 0, withdrawn: 0 };
        const [one, other] = [list.reduce(book, opening), shuffled.reduce(book, opening)];
        expect(other).toEqual(one);
        expect(one.withdrawn).toBe(withdrawn);
        expect(one.balance > 0 && one.overdraft > 0).toBe(false);
      },
    ),
    { numRuns: 1_000 },
  );
});

test('a purchase repays what is overdrawn, no more than it brings', () => {
  expect([
    repaymentOf({ overdraft: 30 }, 100),
    repaymentOf({ overdraft: 300 }, 100),
    repaymentOf({ overdraft: -5 }, 100),
  ]).toEqual([30, 100, 0]);
});
