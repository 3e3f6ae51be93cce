import { expect, test } from '@jest/globals';
import { NO_USAGE, tokenFieldsOf } from '@tollgate/contracts';
import { openHold } from '../../test/usage/holds.ts';
import { finalOfHold, type HoldEnding } from './final-of-hold.ts';
import { lostFinal } from './lost-final.ts';

const STARTED_MS = 1_000_000;
const DAY_MS = 86_400_000;
/** No id of one kind equals one of another kind; input costs a token, output two. */
const HOLD = openHold({
  ...{ accountId: 11, keyId: 22, subscriptionId: 33, modelId: 44, startedAtMs: STARTED_MS },
  ...{ protocol: 'messages', isStream: false },
  price: {
    ...{ id: 55, effective_at: 0, weight_input: 1_000_000, weight_output: 2_000_000 },
    ...{ weight_cache_read: 1_000_000, weight_cache_write: 1_000_000 },
  },
});
const USAGE = { ...NO_USAGE, input: 30, output: 20 };
const ENDING: HoldEnding = {
  ...{ node: 'node-a:3', upstream_id: 66, attempts: [], outcome: 'completed', status: 200 },
  ...{ basis: 'reported', usage: USAGE, endedAtMs: STARTED_MS + 130 },
};
const OF_HOLD = {
  ...{ kind: 'usage', account_id: 11, key_id: 22, subscription_id: 33, model_id: 44 },
  ...{ price_version_id: 55, protocol: 'messages', is_stream: false },
  ...{ started_at: STARTED_MS, first_token_ms: null },
};

test('a request of which only the hold is known is charged by its own price', () => {
  expect(finalOfHold(HOLD, ENDING)).toEqual({
    ...OF_HOLD,
    ...{ node: 'node-a:3', upstream_id: 66, attempts: [], outcome: 'completed', status: 200 },
    ...{ basis: 'reported', ...tokenFieldsOf(USAGE), charge: 70, duration_ms: 130 },
  });
});

test('its premiums, budgets and trace are kept where it has them', () => {
  const hold = { ...HOLD, claims: '7:0:1+2', price: { ...HOLD.price, premiums: ['speed=fast'] } };
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  expect(finalOfHold(hold, { ...ENDING, traceparent })).toMatchObject({
    ...{ premiums: ['speed=fast'], budgets: '7:0:1+2', traceparent },
  });
});

test('it lasted no time by a clock that was set back, and at most a day', () => {
  const lasting = (ms: number) =>
    finalOfHold(HOLD, { ...ENDING, endedAtMs: STARTED_MS + ms }).duration_ms;
  expect([-1, 0, 1, DAY_MS, DAY_MS + 1].map(lasting)).toEqual([0, 0, 1, DAY_MS, DAY_MS]);
});

test('a request whose node died is charged for what was counted, and was answered if anything was', () => {
  const lost = (counts: Record<string, number>) =>
    lostFinal({ hold: HOLD, counts, lastSeenAtMs: STARTED_MS + 40 }, 'node-b:0');
  expect(lost({ input: 30, output: 20 })).toEqual({
    ...OF_HOLD,
    ...{ node: 'node-b:0', upstream_id: null, attempts: [], outcome: 'node_lost', status: 200 },
    ...{ basis: 'estimated', ...tokenFieldsOf(USAGE), charge: 70, duration_ms: 40 },
  });
  expect([lost({}), lost({ input: 0 })].map(({ status, charge }) => [status, charge])).toEqual([
    [500, 0],
    [500, 0],
  ]);
});
