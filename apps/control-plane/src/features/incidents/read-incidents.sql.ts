import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';
import type { RefusedRequests, UpstreamErrors } from './incidents.dto.ts';

const asker = {
  user_id: z.number().nullable(),
  key_id: z.number(),
  code: z.string(),
  status: z.number(),
};
const refusedRow = z.object({
  ...asker,
  rid: z.string(),
  at: z.date(),
  model: z.string().nullable(),
  message: z.string(),
  node: z.string(),
});
export type RefusedRow = z.output<typeof refusedRow>;
const countRow = z.object({
  ...asker,
  count: z.string().transform(toSafeInteger),
  last_at: z.date(),
  total: z.string().transform(toSafeInteger),
});
export type CountRow = z.output<typeof countRow>;
const excerptRow = z.object({
  rid: z.string(),
  place: z.number(),
  at: z.date(),
  user_id: z.number(),
  upstream_id: z.number(),
  status: z.number(),
  excerpt: z.string(),
});
export type ExcerptRow = z.output<typeof excerptRow>;

/** An answer has at most this many groups, largest first. */
const GROUPS_MAX = 100;
type Filters = Readonly<Record<string, unknown>>;

/** Builds conditions for the given filters: the key is the left side with its operator, the value its right side. */
function where(filters: Filters): { sql: string; values: unknown[] } {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined);
  const conditions = given.map(([left], index) => `${left} $${index + 1}`);
  return {
    sql: conditions.length === 0 ? 'true' : conditions.join(' AND '),
    values: given.map(([, value]) => value),
  };
}

/** Reads incidents, newest first. */
@Injectable()
export class IncidentReader {
  constructor(private readonly dataSource: DataSource) {}

  async refused(
    { rid, key_id: keyId, code, status, from, to }: Partial<RefusedRequests>,
    which: { userId: number | undefined; beforeRid?: string | undefined; limit: number },
  ): Promise<RefusedRow[]> {
    const { sql, values } = where({
      'r.rid =': rid,
      'r.rid <': which.beforeRid,
      'r.user_id =': which.userId,
      'r.key_id =': keyId,
      'r.code =': code,
      'r.status =': status,
      'r.at >=': from,
      'r.at <': to,
    });
    const rows: unknown[] = await this.dataSource.query(
      `SELECT * FROM refused_requests r WHERE ${sql} ORDER BY rid DESC LIMIT $${values.length + 1}`,
      [...values, which.limit],
    );
    return rows.map((row) => refusedRow.parse(row));
  }

  async counts(filters: {
    userId: number | undefined;
    keyId: number | undefined;
    from: Date;
    to: Date | undefined;
  }): Promise<CountRow[]> {
    const { sql, values } = where({
      'r.minute >=': filters.from,
      'r.minute <': filters.to,
      'r.user_id =': filters.userId,
      'r.key_id =': filters.keyId,
    });
    const rows: unknown[] = await this.dataSource.query(
      `SELECT key_id, max(user_id) AS user_id, code, status, sum(count)::text AS count, max(minute) AS last_at, sum(sum(count)) OVER ()::text AS total
       FROM refusal_counts r WHERE ${sql} GROUP BY key_id, code, status ORDER BY sum(r.count) DESC, key_id, code LIMIT ${GROUPS_MAX}`,
      values,
    );
    return rows.map((row) => countRow.parse(row));
  }

  async excerpts(
    { rid, upstream_id: upstreamId, user_id: userId }: Partial<UpstreamErrors>,
    { before, limit }: { before?: readonly [string, number] | undefined; limit: number },
  ): Promise<ExcerptRow[]> {
    const { sql, values } = where({
      'r.rid =': rid,
      'r.upstream_id =': upstreamId,
      'r.user_id =': userId,
    });
    const cursor = before
      ? `AND (r.rid, r.place) < ($${values.length + 2}, $${values.length + 3})`
      : '';
    const rows: unknown[] = await this.dataSource.query(
      `SELECT * FROM error_excerpts r WHERE ${sql} ${cursor} ORDER BY rid DESC, place DESC LIMIT $${values.length + 1}`,
      [...values, limit, ...(before ?? [])],
    );
    return rows.map((row) => excerptRow.parse(row));
  }
}
