import { Injectable } from '@nestjs/common';
import { REFUSED_KEPT_MAX, type ErrorExcerpt, type Incidents } from '@tollgate/contracts';
import { DataSource, type EntityManager } from 'typeorm';
import { Transactions } from '../../platform/database/transactions.ts';

/** Incidents are kept for 7 days, in milliseconds. */
export const INCIDENTS_KEPT_MS = 7 * 24 * 3_600_000;
/** Bounds the rows that one statement deletes. */
const DELETED_AT_ONCE = 5_000;

const KEEP_REFUSED = `
  WITH refused AS (
    SELECT *, to_timestamp(at / 1000.0) AS moment
    FROM jsonb_to_recordset($1) AS i (rid uuid, at bigint, key_id int, user_id int, status int, code text, model text, message text)
  ), placed AS (
    SELECT r.*, row_number() OVER (PARTITION BY key_id, date_trunc('minute', moment) ORDER BY rid)
      + (SELECT count(*) FROM refused_requests p WHERE p.key_id = r.key_id
          AND p.at >= date_trunc('minute', r.moment) AND p.at < date_trunc('minute', r.moment) + interval '1 minute') AS place
    FROM refused r
  )
  INSERT INTO refused_requests (rid, at, key_id, user_id, status, code, model, message, node)
  SELECT rid, moment, key_id, user_id, status, code, model, message, $2 FROM placed WHERE place <= ${REFUSED_KEPT_MAX}
  ON CONFLICT (rid) DO NOTHING`;

/** Adds rows in a fixed order, so that two replicas do not deadlock. */
const COUNT_REFUSALS = `
  INSERT INTO refusal_counts (minute, key_id, code, status, user_id, count)
  SELECT to_timestamp(minute / 1000.0), key_id, code, status, max(user_id), sum(count)
  FROM jsonb_to_recordset($1) AS i (minute bigint, key_id int, user_id int, status int, code text, count bigint)
  GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
  ON CONFLICT (minute, key_id, code, status) DO UPDATE SET count = refusal_counts.count + excluded.count`;

const KEEP_EXCERPTS = `
  INSERT INTO error_excerpts (rid, place, at, user_id, upstream_id, status, excerpt)
  SELECT rid, place, to_timestamp(at / 1000.0), account_id, upstream_id, status, excerpt
  FROM jsonb_to_recordset($1) AS i (rid uuid, place int, at bigint, account_id int, upstream_id int, status int, excerpt text)
  ON CONFLICT (rid, place) DO NOTHING`;

const FORGETTING = [
  'DELETE FROM refused_requests WHERE rid IN (SELECT rid FROM refused_requests WHERE at < $1 LIMIT $2) RETURNING 1',
  'DELETE FROM refusal_counts WHERE (minute, key_id, code, status) IN (SELECT minute, key_id, code, status FROM refusal_counts WHERE minute < $1 LIMIT $2) RETURNING 1',
  'DELETE FROM error_excerpts WHERE (rid, place) IN (SELECT rid, place FROM error_excerpts WHERE at < $1 LIMIT $2) RETURNING 1',
];

/** `key_id` is 0 when no account has the key. */
interface OfKey {
  key_id: number;
  user_id: number | null;
}

/** Holds a node's reports, with the key's id in place of the presented key. */
export interface OwnedIncidents {
  refused: readonly (Omit<Incidents['refused'][number], 'key_hashes'> & OfKey)[];
  counts: readonly (Omit<Incidents['counts'][number], 'key_hashes'> & OfKey)[];
  excerpts: readonly ErrorExcerpt[];
}

/** Writes the incidents that nodes report. */
@Injectable()
export class IncidentStore {
  constructor(
    private readonly dataSource: DataSource,
    private readonly transactions: Transactions,
  ) {}

  async keep(node: string, { refused, counts, excerpts }: OwnedIncidents): Promise<void> {
    await this.transactions.run(async (tx) => {
      if (refused.length > 0) await tx.query(KEEP_REFUSED, [JSON.stringify(refused), node]);
      if (counts.length > 0) await tx.query(COUNT_REFUSALS, [JSON.stringify(counts)]);
      if (excerpts.length > 0) await tx.query(KEEP_EXCERPTS, [JSON.stringify(excerpts)]);
    });
  }

  /** Deletes old incidents in parts that lock few rows. */
  async forget(before: Date): Promise<void> {
    for (const statement of FORGETTING)
      while ((await deleted(this.dataSource.manager, statement, before)) === DELETED_AT_ONCE);
  }
}

async function deleted(manager: EntityManager, statement: string, before: Date): Promise<number> {
  const [rows]: [unknown[], number] = await manager.query(statement, [before, DELETED_AT_ONCE]);
  return rows.length;
}
