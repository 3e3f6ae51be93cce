import { expect, jest, test } from '@jest/globals';
import { eventually } from '@tollgate/harness';
import { Acknowledgements } from '@tollgate/keyspace';
import {
  ledger,
  plane,
  stateOf,
  subscribed,
  worker,
} from '../../../testing/usage-ingest-under-test.ts';
import { usageEvent } from '../../../testing/ledger-under-test.ts';

const WAITING =
  "SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

test('usage is acknowledged to its node only after it is booked', async () => {
  const parts = await subscribed(1_000);
  const pushed = jest.spyOn(plane.app.get(Acknowledgements), 'push');
  const lock = plane.administrator.createQueryRunner();
  try {
    await lock.startTransaction();
    await lock.query('SELECT FROM subscriptions WHERE id = $1 FOR UPDATE', [parts.subscriptionId]);
    const event = usageEvent(40, parts);
    const booking = worker.process([event]);
    await eventually(async () =>
      expect((await ledger.query(WAITING))[0].waiting).toBeGreaterThanOrEqual(1),
    );
    expect(pushed).not.toHaveBeenCalled();
    await lock.commitTransaction();
    await booking;
    expect(pushed).toHaveBeenCalledWith('node-a:0', [{ rid: event.rid, seq: 0 }]);
    expect(await stateOf(parts)).toEqual({ balance: 960, overdraft: 0 });
  } finally {
    if (lock.isTransactionActive) await lock.rollbackTransaction();
    await lock.release();
    pushed.mockRestore();
  }
});
