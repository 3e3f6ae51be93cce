import { expect, jest, test } from '@jest/globals';
import type { RelayedEvent } from '@tollgate/contracts';
import type { EntityManager } from 'typeorm';
import { usageEvent } from '../../../testing/ledger-under-test.ts';
import {
  plane,
  ledger,
  worker,
  subscribed,
  stateOf,
} from '../../../testing/usage-ingest-under-test.ts';
import { readEvent, type ReadEvent } from './read-event.ts';
import { UsageRows } from './usage-rows.sql.ts';

const MANY = 100;
const ODD = String.raw`tab	\N \. "{},` + '\n\r ä€😀';

function read(
  event: RelayedEvent,
  change: Partial<Extract<ReadEvent['event']['payload'], { kind: 'usage' }>> = {},
): ReadEvent {
  const reading = readEvent(event);
  if (reading.kind !== 'event' || reading.read.event.payload.kind !== 'usage')
    throw new Error('no final');
  const { payload } = reading.read.event;
  return {
    ...reading.read,
    event: { ...reading.read.event, payload: { ...payload, ...change } },
  };
}

/** Returns the rows that `write` leaves of these requests, but for the time at which they were booked; nothing of them stays. */
async function rowsAfter(rids: readonly string[], write: (tx: EntityManager) => Promise<unknown>) {
  const runner = plane.dataSource.createQueryRunner();
  await runner.startTransaction();
  try {
    await write(runner.manager);
    return await runner.query(
      "SELECT to_jsonb(u) - 'created_at' AS row, created_at > now() AS is_later FROM usage_events u WHERE rid = ANY($1) ORDER BY rid",
      [rids],
    );
  } finally {
    await runner.rollbackTransaction();
    await runner.release();
  }
}

test('rows that are copied are those that would be inserted, whatever their texts contain', async () => {
  const parts = await subscribed(100);
  const events = [
    read(usageEvent(1, parts)),
    read(usageEvent(2, parts), {
      node: ODD,
      attempts: [{ upstream_id: 1, route_id: 1, error: ODD, duration_ms: 1 }],
      premiums: ['speed=fast'],
      first_token_ms: null,
      upstream_id: null,
    }),
    { ...read(usageEvent(3, parts)), unreadable: ['duration_ms'] },
  ];
  const rids = events.map(({ event }) => event.rid);
  const rows = new UsageRows();
  const copied = await rowsAfter(rids, (tx) => rows.copy(tx, events));
  expect(copied).toHaveLength(3);
  expect(copied).toEqual(await rowsAfter(rids, (tx) => rows.insert(tx, events)));
  expect(copied.map(({ row }: { row: { node: string } }) => row.node)).toContain(ODD);
});

test('a large batch is copied; one that brings what is booked already is inserted, and each event is booked once', async () => {
  const parts = await subscribed(2 * MANY);
  const rows = plane.app.get(UsageRows);
  while (!rows.mayCopy(MANY)) continue;
  const copy = jest.spyOn(UsageRows.prototype, 'copy');
  const insert = jest.spyOn(UsageRows.prototype, 'insert');
  const [first, second] = [0, 1].map(() =>
    Array.from({ length: MANY }, () => usageEvent(1, parts)),
  ) as [RelayedEvent[], RelayedEvent[]];
  try {
    await worker.process([...first, ...first.slice(0, 5)]);
    expect([copy.mock.calls.length, insert.mock.calls.length]).toEqual([1, 1]);
    expect(await stateOf(parts)).toEqual({ balance: MANY, overdraft: 0 });
    await worker.process([...second, ...first.slice(0, 5)]);
    expect(copy).toHaveBeenCalledTimes(2);
    expect(await stateOf(parts)).toEqual({ balance: 0, overdraft: 0 });
  } finally {
    copy.mockRestore();
    insert.mockRestore();
  }
  expect(
    await ledger.query(
      'SELECT count(*)::int AS rows FROM usage_events WHERE subscription_id = $1',
      [parts.subscriptionId],
    ),
  ).toEqual([{ rows: 2 * MANY }]);
});

test('after a refusal some batches are inserted before one is copied again', () => {
  const rows = new UsageRows();
  expect([rows.mayCopy(MANY), rows.mayCopy(2)]).toEqual([true, false]);
  rows.copyRefused();
  expect(Array.from({ length: 20 }, () => rows.mayCopy(MANY))).not.toContain(true);
  expect(rows.mayCopy(MANY)).toBe(true);
});
