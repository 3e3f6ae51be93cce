import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { startControlPlane, type ControlPlane } from '../../../testing/control-plane-under-test.ts';
import { ledgerOf, usageEvent } from '../../../testing/ledger-under-test.ts';
import { uuidv7 } from '../../../platform/http/visitor.ts';
import { UsageIngest } from './usage-ingest.service.ts';
import { PartitionKeeper } from './partition-keeper.ts';
import { UsagePartitions } from './usage-partitions.sql.ts';

const DAY_MS = 86_400_000;
let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({ USAGE_RETENTION_DAYS: '30' });
}, 60_000);
afterAll(() => plane?.stop());

const partitionOf = (atMs: number): string =>
  `usage_events_${new Date(atMs).toISOString().slice(0, 10).replaceAll('-', '')}`;
async function partitions(): Promise<string[]> {
  const rows: { name: string }[] = await plane.dataSource.query(
    "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'usage_events'::regclass ORDER BY 1",
  );
  return rows.map(({ name }) => name).filter((name) => name !== 'usage_events_default');
}
const days = (fromMs: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => partitionOf(fromMs + index * DAY_MS));

test('a partition a day is there from yesterday to a week ahead, before anything is written', async () => {
  expect(await partitions()).toEqual(days(Date.now() - DAY_MS, 9));
});

test('time that passes brings new ones and drops those beyond the retention, several maintainers at once included', async () => {
  const later = Date.now() + 40 * DAY_MS;
  const service = plane.app.get(PartitionKeeper);
  await Promise.all([service.look(later), service.look(later), service.look(later)]);
  const kept = await partitions();
  expect(kept).toEqual(
    [
      ...new Set([
        ...days(Date.now() - DAY_MS, 9).filter((name) => name >= partitionOf(later - 30 * DAY_MS)),
        ...days(later - DAY_MS, 9),
      ]),
    ].toSorted(),
  );
});

test('a final brought again after its day was dropped is set aside, not charged twice', async () => {
  const ledger = ledgerOf(plane);
  await ledger.initialiseShards();
  const [account, model] = [await ledger.account('10'), await ledger.model('1')];
  const body = { model_id: model.id, tokens: 1_000 };
  await plane.call('POST', '/models/subscribe', { token: account.token, body });
  const { id: subscriptionId } = await ledger.subscription(account, model);
  const parts = { account, model, subscriptionId };
  const ingest = plane.app.get(UsageIngest);
  // One event is of a day whose partition is dropped after it was booked, and one of a day that is kept.
  const old = usageEvent(100, { ...parts, rid: uuidv7(Date.now() - 40 * DAY_MS) });
  const kept = usageEvent(7, { ...parts, rid: uuidv7(Date.now() + 10 * DAY_MS) });
  await plane.dataSource.query("UPDATE usage_dropped_days SET before = '-infinity'");
  expect(await ingest.ingest([old])).toHaveLength(1);
  const booked = 'SELECT count(*)::int AS n FROM usage_events WHERE rid = $1';
  const { rid } = old;
  await plane.app.get(PartitionKeeper).look();
  expect(await ledger.query(booked, [rid])).toEqual([{ n: 0 }]);
  for (const fromJournal of [false, true])
    expect(await ingest.ingest([old, kept], { fromJournal })).toHaveLength(fromJournal ? 0 : 1);
  expect(await ledger.subscription(account, model)).toMatchObject({ balance: '893' });
  expect(await ledger.query('SELECT reason FROM usage_dead_letters WHERE rid = $1', [rid])).toEqual(
    [{ reason: expect.stringContaining('may have been charged') }],
  );
  expect((await ledger.asAdmin('GET', '/admin/alerts?rule=dead_letter')).body.total).toBe(1);
  await ledger.query('DELETE FROM usage_events_default');
});

test('the default partition stays empty', async () => {
  expect(
    await plane.dataSource.query('SELECT count(*)::int AS n FROM usage_events_default'),
  ).toEqual([{ n: 0 }]);
});

test('a transaction that holds a lock, as a backup does, delays neither a start nor readers for longer than half a second, and is alerted before rows come without a partition', async () => {
  const keeper = plane.app.get(PartitionKeeper);
  const later = Date.now() + 60 * DAY_MS;
  const backup = new pg.Client({ connectionString: plane.services.databaseUrl });
  await backup.connect();
  const alerts = async (): Promise<number> =>
    (await plane.call('GET', '/admin/alerts?rule=partitions_late', { token: plane.adminToken }))
      .body.total;
  try {
    await backup.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await backup.query('SELECT count(*) FROM usage_events');
    const looking = keeper.look(later);
    const read = Array.from({ length: 20 }, async () => {
      const startedAt = performance.now();
      expect((await plane.call('GET', '/usage/logs', { token: plane.adminToken })).status).toBe(
        200,
      );
      return performance.now() - startedAt;
    });
    await expect(looking).rejects.toThrow('locked by another transaction');
    expect(Math.max(...(await Promise.all(read)))).toBeLessThan(3_000);
    expect(await partitions()).not.toContain(partitionOf(later));
    expect(await alerts()).toBe(1);
    await plane.app.get(UsagePartitions).prepare(later);
  } finally {
    await backup.end();
  }
  await keeper.look(later);
  expect(await partitions()).toContain(partitionOf(later + 7 * DAY_MS));
  expect(await alerts()).toBe(0);
});
