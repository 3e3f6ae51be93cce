import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { eventually } from '../../testing/eventually.ts';
import { ledgerOf, usageEvent } from '../../testing/ledger-under-test.ts';
import { ADVISORY_LOCK_FAMILIES } from '../../platform/database/advisory-locks.ts';
import { UsageWorker } from '../usage/ingest/usage-worker.ts';

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
beforeAll(async () => {
  plane = await startControlPlane();
  ledger = ledgerOf(plane);
  await ledger.initialiseShards();
}, 60_000);
afterAll(() => plane?.stop());

test('what is booked after its shard was filled says so, also where its transaction began before', async () => {
  const [account, model] = [await ledger.account('10'), await ledger.model('1')];
  await plane.call('POST', '/models/subscribe', {
    token: account.token,
    body: { model_id: model.id, tokens: 1_000 },
  });
  const { id: subscriptionId } = await ledger.subscription(account, model);
  const index = account.id % Number(plane.environment['SHARDS']);
  const shard = `s${String(index).padStart(2, '0')}`;
  const event = usageEvent(100, { account, model, subscriptionId });
  // As a change of epoch does, with a booking that comes just after its beginning.
  const booked = await plane.dataSource.transaction(async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock($1, $2)', [
      ADVISORY_LOCK_FAMILIES.shardEpoch,
      index,
    ]);
    const booking = plane.app.get(UsageWorker).process([{ ...event, shard }]);
    const waits = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    await eventually(async () => expect(await ledger.query(waits)).toHaveLength(1));
    await tx.query(
      `INSERT INTO shard_epochs (shard, epoch, updated_at) VALUES ($1, 'next', clock_timestamp())
       ON CONFLICT (shard) DO UPDATE SET epoch = excluded.epoch, updated_at = excluded.updated_at`,
      [shard],
    );
    return { done: booking };
  });
  await booked.done;
  const rows = await ledger.query(
    `SELECT u.created_at > e.updated_at AS "isLater" FROM usage_events u, shard_epochs e WHERE u.rid = $1 AND e.shard = $2`,
    [event.rid, shard],
  );
  expect(rows).toEqual([{ isLater: true }]);
});
