import { expect, test } from '@jest/globals';
import { LiveRecords } from '@tollgate/keyspace';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { Host } from '../../platform/host/host.ts';
import { QueueBacklog } from '../../platform/queues/queue-backlog.ts';
import { ledgerOf } from '../../testing/ledger-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { StandingUsage } from './standing-usage.ts';

const OUTBOX = '{s03}:outbox';

/** Looks by a clock of its own; answers the open alerts about the shard. */
async function openWatch() {
  const plane = await sharedControlPlane();
  const redis = plane.app.get(REDIS);
  let nowMs = 0;
  const host = Object.assign(new Host(), { monotonicMs: () => nowMs });
  const watch = new StandingUsage(
    plane.dataSource,
    plane.app.get(LiveRecords),
    plane.app.get(QueueBacklog, { strict: false }),
    plane.app.get(AlertsService, { strict: false }),
    { SHARDS: Number(plane.environment['SHARDS']) },
    host,
  );
  const lookAfter = async (ms: number): Promise<unknown[]> => {
    nowMs += ms;
    await watch.look();
    return openAlerts();
  };
  const openAlerts = () =>
    ledgerOf(plane).query(
      "SELECT subject, detail FROM alerts WHERE rule = 'settlement_backlog' AND resolved_at IS NULL AND subject = 'shard:s03'",
    );
  await redis.del(OUTBOX);
  return { redis, lookAfter, openAlerts };
}

test('a shard whose usage stands for a minute is an alert, however little it is; the alert ends when the usage leaves', async () => {
  const { redis, lookAfter } = await openWatch();
  expect(await lookAfter(0)).toEqual([]);
  const first = (await redis.xadd(OUTBOX, '*', 'rid', 'x')) ?? '';
  const second = (await redis.xadd(OUTBOX, '*', 'rid', 'y')) ?? '';
  expect(await lookAfter(90_000)).toEqual([]);
  expect(await lookAfter(59_000)).toEqual([]);
  expect(await lookAfter(2_000)).toEqual([
    { subject: 'shard:s03', detail: { kind: 'outbox', shard: 's03' } },
  ]);
  expect(await lookAfter(90_000)).toHaveLength(1);
  // Usage that moves on is no backlog, whatever its age.
  await redis.xdel(OUTBOX, first);
  expect(await lookAfter(1_000)).toEqual([]);
  expect(await lookAfter(61_000)).toHaveLength(1);
  await redis.xdel(OUTBOX, second);
  expect(await lookAfter(1_000)).toEqual([]);
});

test('a shard that cannot be read hides no usage that stands in another', async () => {
  const { redis, lookAfter, openAlerts } = await openWatch();
  const before = '{s01}:outbox';
  await redis.del(before);
  await redis.set(before, 'of another program');
  await redis.xadd(OUTBOX, '*', 'rid', 'x');
  try {
    await expect(lookAfter(0)).rejects.toThrow('WRONGTYPE');
    await expect(lookAfter(61_000)).rejects.toThrow('WRONGTYPE');
    expect(await openAlerts()).toHaveLength(1);
  } finally {
    await redis.del(before);
    await redis.del(OUTBOX);
  }
  expect(await lookAfter(1_000)).toEqual([]);
});
