import type { DataSource } from 'typeorm';
import { z } from 'zod';
import { INTEGER_MAX } from '../../platform/database/integer-max.ts';

const PER_KIND = 6;

/** `$1` is the pattern, `$2` the text as typed, `$3` the account whose keys are searched (null for all accounts). Names that begin with the text come first. */
const FIND = {
  user: "SELECT 'user' AS kind, id, username AS title, status AS detail FROM users WHERE deleted_at IS NULL AND (username ILIKE $1 OR id::text = $2) AND $3::int IS NULL",
  model:
    "SELECT 'model' AS kind, id, name AS title, display_name AS detail FROM models WHERE deleted_at IS NULL AND (is_on_shelf OR $3::int IS NULL) AND (name ILIKE $1 OR display_name ILIKE $1 OR id::text = $2)",
  key: "SELECT 'key' AS kind, id, name AS title, key_prefix AS detail FROM api_keys WHERE status <> 'deleted' AND ($3::int IS NULL OR user_id = $3) AND (name ILIKE $1 OR key_prefix ILIKE $1 OR id::text = $2)",
  upstream:
    "SELECT 'upstream' AS kind, id, name AS title, protocol AS detail FROM upstreams WHERE deleted_at IS NULL AND (name ILIKE $1 OR id::text = $2) AND $3::int IS NULL",
  node: "SELECT 'node' AS kind, id, name AS title, CASE WHEN enabled THEN 'enabled' ELSE 'disabled' END AS detail FROM proxy_nodes WHERE deleted_at IS NULL AND (name ILIKE $1 OR id::text = $2) AND $3::int IS NULL",
} as const;
/** Answers searches of the command palette. */
export const FIND_BY_NAME = Object.values(FIND)
  .map(
    (select) =>
      `(SELECT * FROM (${select}) found ORDER BY title ILIKE $2 || '%' DESC, title LIMIT ${PER_KIND})`,
  )
  .join(' UNION ALL ');

/**
 * Selects names for each kind of record from the ids in `$1`, with the owning account and whether the record is deleted. A deleted record keeps its
 * name as long as its row exists.
 */
const SELECT: Readonly<Record<string, string>> = {
  user: 'SELECT id, username AS name, id AS user_id, deleted_at IS NOT NULL AS is_gone FROM users WHERE id = ANY($1)',
  model:
    'SELECT id, name, NULL AS user_id, deleted_at IS NOT NULL AS is_gone FROM models WHERE id = ANY($1)',
  upstream:
    'SELECT id, name, NULL AS user_id, deleted_at IS NOT NULL AS is_gone FROM upstreams WHERE id = ANY($1)',
  node: 'SELECT id, name, NULL AS user_id, deleted_at IS NOT NULL AS is_gone FROM proxy_nodes WHERE id = ANY($1)',
  key: "SELECT id, name, user_id, status = 'deleted' AS is_gone FROM api_keys WHERE id = ANY($1)",
  access_token:
    'SELECT t.id, t.name, t.user_id, u.deleted_at IS NOT NULL AS is_gone FROM access_tokens t JOIN users u ON u.id = t.user_id WHERE t.id = ANY($1)',
  subscription: `
    SELECT s.id, u.username || ' · ' || m.name AS name, s.user_id, u.deleted_at IS NOT NULL AS is_gone
    FROM subscriptions s JOIN users u ON u.id = s.user_id JOIN models m ON m.id = s.model_id WHERE s.id = ANY($1)`,
  route: `
    SELECT r.id, m.name || ' → ' || u.name AS name, NULL AS user_id, false AS is_gone
    FROM routes r JOIN models m ON m.id = r.model_id JOIN upstreams u ON u.id = r.upstream_id WHERE r.id = ANY($1)`,
};
const namedRow = z.object({
  id: z.coerce.string(),
  name: z.string(),
  user_id: z.number().nullable(),
  is_gone: z.boolean(),
});

export interface RecordRef {
  kind: string;
  id: string | null;
}

export interface RecordName {
  name: string | null;
  userId: number | null;
  isGone: boolean;
}

const UNNAMED: RecordName = { name: null, userId: null, isGone: false };

/** Returns the names of records that rows of a list refer to, with one statement for each kind. Kinds without names, and records without a row, have null. */
export async function nameRecords(
  dataSource: Pick<DataSource, 'query'>,
  refs: readonly RecordRef[],
): Promise<(ref: RecordRef) => RecordName> {
  const found = new Map<string, RecordName>();
  const byKind = Map.groupBy(refs.filter(isNumbered), ({ kind }) => kind);
  await Promise.all(
    [...byKind].map(async ([kind, ofKind]) => {
      const ids = [...new Set(ofKind.map(({ id }) => Number(id)))];
      const rows: unknown[] = await dataSource.query(SELECT[kind] ?? '', [ids]);
      for (const { id, name, ...row } of rows.map((raw) => namedRow.parse(raw)))
        found.set(`${kind}:${id}`, { name, userId: row.user_id, isGone: row.is_gone });
    }),
  );
  return ({ kind, id }) => found.get(`${kind}:${id}`) ?? UNNAMED;
}

function isNumbered({ kind, id }: RecordRef): boolean {
  return Object.hasOwn(SELECT, kind) && /^\d{1,10}$/.test(id ?? '') && Number(id) <= INTEGER_MAX;
}
