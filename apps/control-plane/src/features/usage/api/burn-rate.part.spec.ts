import { beforeAll, expect, test } from '@jest/globals';
import { ledgerOf, usageEvent } from '../../../testing/ledger-under-test.ts';
import type { ControlPlane } from '../../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../../testing/shared-plane-under-test.ts';
import { UsageWorker } from '../ingest/usage-worker.ts';

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
beforeAll(async () => {
  plane = await sharedControlPlane();
  ledger = ledgerOf(plane);
  await ledger.initialiseShards();
}, 60_000);

test('tokens last as long as the use of the last day and week lets them', async () => {
  const [account, used, unused] = [
    await ledger.account('100'),
    await ledger.model('1'),
    await ledger.model('1'),
  ];
  const as = <Method extends string, Path extends string>(
    method: Method,
    path: Path,
    body?: unknown,
  ) => plane.call(method, path, { token: account.token, ...(body === undefined ? {} : { body }) });
  for (const model of [used, unused])
    await as('POST', '/models/subscribe', { model_id: model.id, tokens: 100_000 });
  const { id: subscriptionId } = await ledger.subscription(account, used);
  await plane.app
    .get(UsageWorker)
    .process([usageEvent(2_000, { account, model: used, subscriptionId })]);
  await ledger.query(
    `INSERT INTO usage_rollups SELECT hour - interval '3 days', user_id, key_id, model_id, upstream_id, requests, errors, 12000, input_tokens,
       cache_read_tokens, cache_write_tokens, output_tokens, duration_histogram, first_token_histogram FROM usage_rollups WHERE user_id = $1`,
    [account.id],
  );
  const { data } = (await as('GET', '/usage/burn-rate')).body;
  expect(data).toMatchObject([
    { model_id: used.id, used_last_day: 2_000, used_last_week: 14_000, days_left_at_week_pace: 50 },
    { model_id: unused.id, used_last_day: 0, days_left: null, days_left_at_week_pace: null },
  ]);
  expect(data[0].days_left).toBe(data[0].tokens / 2_000);
  const stranger = await ledger.account('0');
  expect(
    (await plane.call('GET', `/usage/burn-rate?user_id=${account.id}`, { token: stranger.token }))
      .status,
  ).toBe(404);
});
