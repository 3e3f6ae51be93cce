import { z } from 'zod';
import type { QuerySource } from './query-source.ts';

export interface UsedKeys {
  userIds: readonly number[];
  keyIds: readonly number[];
}

/**
 * Selects last uses in three steps: the day from the daily roll-ups, the hour from those of that day, and the time from the requests of that hour.
 * Each step reads a short range of an index, also where an account has millions of requests. Requests that retention has removed still show their
 * hour.
 */
const LAST_USES = `
  WITH used AS (
    SELECT user_id, key_id, max(day) AS day FROM usage_rollups_daily
    WHERE user_id = ANY($1::int[]) AND key_id = ANY($2::int[]) AND requests > 0 GROUP BY user_id, key_id)
  SELECT u.key_id, coalesce(e.started_at, h.hour, u.day::timestamp AT TIME ZONE 'UTC') AS at
  FROM used u
    CROSS JOIN LATERAL (
      SELECT max(r.hour) AS hour FROM usage_rollups r
      WHERE r.user_id = u.user_id AND r.key_id = u.key_id AND r.requests > 0
        AND r.hour >= u.day::timestamp AT TIME ZONE 'UTC' AND r.hour < (u.day + 1)::timestamp AT TIME ZONE 'UTC') h
    LEFT JOIN LATERAL (
      SELECT e.started_at FROM usage_events e
      WHERE e.day = u.day AND e.user_id = u.user_id AND e.key_id = u.key_id
        AND e.started_at >= h.hour AND e.started_at < h.hour + interval '1 hour'
      ORDER BY e.started_at DESC LIMIT 1) e ON true`;

const lastUse = z.object({ key_id: z.number(), at: z.date() });

/** Returns when these keys were last used, a second or two behind the nodes. Unused keys are absent. */
export async function lastUsesOf(
  source: QuerySource,
  { userIds, keyIds }: UsedKeys,
): Promise<ReadonlyMap<number, Date>> {
  const rows = await source.query(LAST_USES, [userIds, keyIds]);
  return new Map(rows.map((row) => lastUse.parse(row)).map(({ key_id: id, at }) => [id, at]));
}
