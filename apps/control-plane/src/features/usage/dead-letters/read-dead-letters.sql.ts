import type { RelayedEvent } from '@tollgate/contracts';
import type { DataSource } from 'typeorm';
import { z } from 'zod';
import { waitingRows, type WaitingRows } from '../../../platform/database/waiting-rows.ts';
import { uuidTimeMs } from '../ingest/read-event.ts';

const countRow = z.object({ count: z.number() });

/** Counts the events that are not booked and wait for a person. */
export async function countDeadLetters(dataSource: DataSource): Promise<number> {
  const [row]: unknown[] = await dataSource.query(
    'SELECT count(*)::int AS count FROM usage_dead_letters WHERE resolved_at IS NULL',
  );
  return countRow.parse(row).count;
}

/** Returns the dead letters that wait for an administrator. */
export const waitingDeadLetters = (dataSource: Pick<DataSource, 'query'>): Promise<WaitingRows> =>
  waitingRows(dataSource, 'usage_dead_letters WHERE resolved_at IS NULL');

/** Returns whether an event with this number, or the final of its request, is booked. */
export async function isBooked(
  dataSource: Pick<DataSource, 'query'>,
  { rid, seq }: RelayedEvent,
  isFinal: boolean,
): Promise<boolean> {
  const rows: unknown[] = await dataSource.query(
    `SELECT 1 FROM usage_events WHERE day = $1 AND rid = $2 AND CASE WHEN $3 THEN kind = 'usage' ELSE seq::text = $4 END`,
    [new Date(uuidTimeMs(rid)).toISOString().slice(0, 10), rid, isFinal, seq],
  );
  return rows.length > 0;
}
