import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startControlPlane, type ControlPlane } from '../../../testing/control-plane-under-test.ts';
import { UsagePartitions } from './usage-partitions.ts';

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
  const service = plane.app.get(UsagePartitions);
  await Promise.all([service.maintain(later), service.maintain(later), service.maintain(later)]);
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

test('the default partition stays empty', async () => {
  expect(
    await plane.dataSource.query('SELECT count(*)::int AS n FROM usage_events_default'),
  ).toEqual([{ n: 0 }]);
});
