import { refusedRow } from '../../../../apps/control-plane/src/testing/refused-row.ts';
import { type ModelPostgres, type Statement } from './model-postgres.ts';
import { readArray } from './read-array.ts';
import { readCopied } from './read-copied.ts';
import type { ModelTransaction } from './transaction.ts';

type Lists = readonly (readonly unknown[])[];
const text = (value: unknown): string => String(value);
const number = (value: unknown): number => Number(value);
const numberOrNull = (value: unknown): number | null => (value === null ? null : Number(value));

/** `usage_events (day, rid, ...)`: the order of the columns is read from the statement once. */
export const insertUsage: Statement = (db, tx, parameters) =>
  insertNew(db, tx, (parameters as string[]).map(readArray));

/** Copies the same columns and the time, row by row; all or none. */
export const copyUsage: Statement = (db, tx, [copied]) => {
  const rows = readCopied(text(copied));
  const columns = (rows[0] ?? []).slice(0, -1).map((_, column) => rows.map((row) => row[column]));
  if (insertNew(db, tx, columns).length < rows.length) throw refusedRow('of a copied event');
  return [];
};

function insertNew(db: ModelPostgres, tx: ModelTransaction, columns: Lists) {
  const rids = columns[1] as string[];
  const booked: { rid: string; seq: number }[] = [];
  const keyOf = (index: number): string =>
    `${rids[index]?.toLowerCase()}:${number(columns[2]?.[index])}`;
  // All that must be waited for comes first: then nothing was written when the statement begins again.
  const isThere = rids.map((_, index) => db.rows.usage.lock(tx, keyOf(index)) !== undefined);
  for (const [index, rid] of rids.entries()) {
    if (isThere[index]) continue;
    const [key, seq] = [keyOf(index), number(columns[2]?.[index])];
    db.rows.usage.put(tx, key, usageRow(db, columns, index));
    booked.push({ rid: rid.toLowerCase(), seq });
  }
  return booked;
}

function usageRow(db: ModelPostgres, columns: Lists, index: number) {
  const [day, rid, seq, kind, , subscription, , , , delta, charge] = columns.map(
    (column) => column[index],
  );
  const [shard, ms, n] = columns.slice(-3).map((column) => column[index]);
  return {
    day: text(day),
    rid: text(rid).toLowerCase(),
    seq: number(seq),
    kind: text(kind),
    subscription_id: number(subscription),
    delta: number(delta),
    charge: numberOrNull(charge),
    shard: shard === null ? null : text(shard),
    outbox_ms: numberOrNull(ms),
    outbox_n: numberOrNull(n),
    created_at: db.nowMs,
  };
}
