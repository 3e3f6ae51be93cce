import type { BalanceMark, SubscriptionRef } from '@tollgate/keyspace';
import type { DataSource } from 'typeorm';
import { z } from 'zod';

const driftRow = z.object({ id: z.number(), drift: z.coerce.number(), is_repairing: z.boolean() });

export interface Drift {
  /** Counts the tokens by which Redis must be changed; 0 when it had the ledger's balance at the mark. */
  tokens: number;
  /** Is true when a repair is on its way, which changes Redis without the ledger. */
  isRepairing: boolean;
}

/**
 * Computes what Redis must have held at the mark, minus what it held. It starts from the ledger's position, subtracts the credits that Redis had not
 * applied, and adds the events that were written after the mark. The outbox of a shard is empty when its epoch begins, so events of an earlier epoch
 * are not compared. Everything up to the mark must be booked. Usage that PostgreSQL learned of first is in the position, and in Redis after its
 * credit is applied; repairs are in Redis alone.
 */
const DRIFT = `
  SELECT s.id,
    s.balance - s.overdraft
      - coalesce((SELECT sum(c.delta) FROM token_credits c WHERE c.subscription_id = s.id AND c.seq > m.cseq AND c.kind <> 'reconciliation'), 0)
      + coalesce((SELECT sum(u.delta) FROM usage_events u
                  WHERE u.subscription_id = s.id AND u.day >= current_date - 2 AND u.shard = m.shard AND (u.outbox_ms, u.outbox_n) > (m.ms, m.n)
                    AND u.created_at >= coalesce((SELECT e.updated_at FROM shard_epochs e WHERE e.shard = m.shard), '-infinity')), 0)
      - m.balance AS drift,
    EXISTS (SELECT 1 FROM token_credits c WHERE c.subscription_id = s.id AND c.seq > m.cseq AND c.kind = 'reconciliation') AS is_repairing
  FROM subscriptions s
  JOIN unnest($1::int[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[]) AS m(id, shard, ms, n, cseq, balance) ON m.id = s.id`;

/** Returns the drifts by subscription id. */
export async function driftsAt(
  dataSource: DataSource,
  marks: readonly BalanceMark[],
): Promise<Map<number, Drift>> {
  if (marks.length === 0) return new Map();
  const ids = marks.map(({ outboxId }) => outboxId.split('-'));
  const rows: unknown[] = await dataSource.query(DRIFT, [
    marks.map(({ id }) => id),
    marks.map(({ shard }) => shard),
    ids.map(([ms]) => ms),
    ids.map(([, n]) => n),
    marks.map(({ creditSeq }) => creditSeq),
    marks.map(({ balance }) => balance),
  ]);
  return new Map(
    rows
      .map((row) => driftRow.parse(row))
      .map((row) => [row.id, { tokens: row.drift, isRepairing: row.is_repairing }]),
  );
}

/** A missing credit is on its way while its write is promised, and may have been given after the mark was read. */
const MISNUMBERED = `
  SELECT s.id, s.credit_seq AS seq FROM subscriptions s JOIN unnest($1::int[], $2::bigint[]) AS m(id, cseq) ON m.id = s.id
  WHERE m.cseq > s.credit_seq
    OR EXISTS (SELECT FROM token_credits c WHERE c.subscription_id = s.id AND c.seq = m.cseq + 1 AND c.created_at < now() - interval '10 seconds')
      AND NOT EXISTS (SELECT FROM live_state_outbox o WHERE o.target_id = s.id AND o.kind NOT IN ('account', 'key'))`;
const idRow = z.object({ id: z.number() });
const numberRow = idRow.extend({ seq: z.coerce.number() });

/**
 * Returns those of these marks that count a credit which PostgreSQL has not given, or have lacked one for 10 s, by id with the last credit that was
 * given. PostgreSQL gives a credit its number before Redis learns of it, so the marks are taken first.
 */
export async function misnumberedOf(
  dataSource: DataSource,
  marks: readonly BalanceMark[],
): Promise<Map<number, number>> {
  if (marks.length === 0) return new Map();
  const rows: unknown[] = await dataSource.query(MISNUMBERED, [
    marks.map(({ id }) => id),
    marks.map(({ creditSeq }) => creditSeq),
  ]);
  return new Map(rows.map((row) => numberRow.parse(row)).map(({ id, seq }) => [id, seq]));
}

const CHARGED = `
  SELECT w.rid FROM unnest($1::date[], $2::uuid[]) AS w(day, rid)
  WHERE EXISTS (SELECT 1 FROM usage_events u WHERE u.day = w.day AND u.rid = w.rid AND u.seq = 0)`;
const FIRST_LETTERS =
  "SELECT rid, delta, payload FROM usage_dead_letters WHERE rid = ANY($1::text[]) AND seq = '0'";
const letterRow = z.object({ rid: z.string(), delta: z.string(), payload: z.string() });
type FirstLetter = z.output<typeof letterRow>;
const ridRow = z.object({ rid: z.string() });

/** Returns those of these requests whose first charge is booked. */
export async function chargedOf(
  dataSource: DataSource,
  rids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (rids.length === 0) return new Set();
  const rows: unknown[] = await dataSource.query(CHARGED, [rids.map(dayOf), rids]);
  return new Set(rows.map((row) => ridRow.parse(row).rid));
}

/**
 * Returns dead letters with the numbers of these requests' first charges. Anyone who can write to the queue can leave one, so its number alone proves
 * nothing.
 */
export async function firstLettersOf(
  dataSource: DataSource,
  rids: readonly string[],
): Promise<FirstLetter[]> {
  if (rids.length === 0) return [];
  const rows: unknown[] = await dataSource.query(FIRST_LETTERS, [rids]);
  return rows.map((row) => letterRow.parse(row));
}

/** Returns the day of the request's partition: a UUIDv7 begins with Unix ms. */
function dayOf(rid: string): string {
  const unixMs = Number.parseInt(rid.slice(0, 8) + rid.slice(9, 13), 16);
  return new Date(unixMs).toISOString().slice(0, 10);
}

const STRANGE = `
  SELECT s.id FROM subscriptions s JOIN unnest($1::int[], $2::bigint[], $3::bigint[], $4::text[]) AS m(id, generation, revision, status) ON m.id = s.id
  WHERE m.generation > s.generation OR m.revision > s.revision OR (m.revision = s.revision AND (m.generation <> s.generation OR m.status <> s.status))`;

/**
 * Returns the ids of these marks whose record differs from its row: it has a later generation or revision, or the same one and other content.
 * PostgreSQL is written first, so the marks are taken first. Such a record takes no later write of the control plane.
 */
export async function strangeOf(
  dataSource: DataSource,
  marks: readonly BalanceMark[],
): Promise<ReadonlySet<number>> {
  if (marks.length === 0) return new Set();
  const rows: unknown[] = await dataSource.query(STRANGE, [
    marks.map(({ id }) => id),
    marks.map(({ generation }) => generation),
    marks.map(({ revision }) => revision),
    marks.map(({ status }) => status),
  ]);
  return new Set(rows.map((row) => idRow.parse(row).id));
}

interface Standing {
  status: string;
  generation: number;
  revision: number;
}

/** Compares one record with a row that was read before it. A newer record may be a later write, which the second check distinguishes. */
export function isStrange(record: Standing, row: Standing): boolean {
  if (record.revision !== row.revision || record.generation !== row.generation)
    return record.revision > row.revision || record.generation > row.generation;
  return record.status !== row.status;
}

/** Returns the subscription with that name, if there is one. */
export async function idsOf(
  dataSource: DataSource,
  { accountId, modelId }: SubscriptionRef,
): Promise<number[]> {
  const rows: unknown[] = await dataSource.query(
    'SELECT id FROM subscriptions WHERE user_id = $1 AND model_id = $2',
    [accountId, modelId],
  );
  return rows.map((row) => idRow.parse(row).id);
}

/** Compares stream ids as pairs of numbers. */
export function isAfter(id: string, other: string): boolean {
  const [ms = 0, n = 0] = id.split('-').map(Number);
  const [otherMs = 0, otherN = 0] = other.split('-').map(Number);
  return ms > otherMs || (ms === otherMs && n > otherN);
}
