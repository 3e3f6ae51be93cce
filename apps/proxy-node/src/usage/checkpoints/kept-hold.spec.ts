import { expect, test } from '@jest/globals';
import { NO_USAGE } from '@tollgate/contracts';
import { pino } from 'pino';
import { openHold } from '../../../test/usage/holds.ts';
import { startCheckpoints } from './checkpoint-step.ts';
import { KeptHold, type HoldKeeper } from './kept-hold.ts';

const HOLD = openHold({ rid: 'r', grantedTokens: 1_000, sliceTokens: 500, boundTokens: 9_000 });
const KEEPER: HoldKeeper = {
  log: pino({ level: 'silent' }),
  start: ({ grantedTokens: heldTokens, ...hold }) =>
    startCheckpoints(
      { ...hold, leaseMs: 60_000, rechargeWaitMs: 0 },
      { heldTokens, now: 0, spread: 0 },
    ),
  step: () => undefined,
  release: () => undefined,
};

test('a stream whose prompt may be in a dearer tier has the room that its hold covers there, and is charged by its own', async () => {
  const weights = { weight_input: 2_000_000, weight_output: 4_000_000 };
  const price = {
    ...HOLD.price,
    ...{ weight_input: 1_000_000, weight_output: 1_000_000 },
    tiers: [{ above_prompt_tokens: 200, weights: { ...HOLD.price, ...weights } }],
  };
  const usage = { ...NO_USAGE, input: 150, output: 25 };
  const of = (promptTokens: number) => {
    const kept = new KeptHold(KEEPER, { ...HOLD, price, promptTokens });
    kept.count(() => usage);
    kept.counted();
    return [kept.room(usage), kept.charge];
  };
  expect(of(200)).toEqual([1_000 - 175, 175]);
  expect(of(201)).toEqual([(1_000 - 300 - 100) / 4, 175]);
});
