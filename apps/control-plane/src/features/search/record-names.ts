import type { DataSource } from 'typeorm';
import { z } from 'zod';
import { INTEGER_MAX } from '../../platform/database/integer-max.ts';

const PER_KIND = 6;

/** `$1` is the pattern, `$2` the text as typed, `$3` the account whose keys are searched (null: all accounts). Names that begin with the text come first. */
const FIND = {
  user: "SELECT 'user' AS kind, id, username AS title, status AS detail FROM users WHERE deleted_at IS NULL AND (username ILIKE $1 OR id::text = $2) AND $3::int IS NULL",
  model:
    "SELECT 'model' AS kind, id, name AS title, display_name AS detail FROM models WHERE deleted_at IS NULL AND (is_on_shelf OR $3::int IS NULL) AND (name ILIKE $1 OR display_name ILIKE $1 OR id::text = $2)",
  key: "SELECT 'key' AS kind, id, name AS title, key_prefix AS detail FROM api_keys WHERE status <> 'deleted' AND playground_sid IS NULL AND ($3::int IS NULL OR user_id = $3) AND (name ILIKE $1 OR key_prefix ILIKE $1 OR id::text = $2)",
  upstream:
    "SELECT 'upstream' AS kind, id, name AS title, protocol AS detail FROM upstreams WHERE deleted_at IS NULL AND (name ILIKE $1 OR id::text = $2) AND $3::int IS NULL",
  node: "SELECT 'node' AS kind, id, name AS title, CASE WHEN enabled THEN 'enabled' ELSE 'disabled' END AS detail FROM proxy_nodes WHERE deleted_at IS NULL AND (name ILIKE $1 OR id::text = $2) AND $3::int IS NULL",
} as const;
/** What the command palette asks. */
export const FIND_BY_NAME = Object.values(FIND)
  .map(
    (select) =>
      `(SELECT * FROM (${select}) found ORDER BY title ILIKE $2 || '%' DESC, title LIMIT ${PER_KIND})`,
  )
  .join(' UNION ALL ');

/** Of each kind of record: its ids in `$1`, its name, and the account it belongs to. What is deleted keeps its name as long as its row. */
const SELECT: Readonly<Record<string, string>> = {
  user: 'SELECT id, username AS name, id AS user_id FROM users WHERE id = ANY($1)',
  model: 'SELECT id, name, NULL AS user_id FROM models WHERE id = ANY($1)',
  upstream: 'SELECT id, name, NULL AS user_id FROM upstreams WHERE id = ANY($1)',
  node: 'SELECT id, name, NULL AS user_id FROM proxy_nodes WHERE id = ANY($1)',
  key: 'SELECT id, name, user_id FROM api_keys WHERE id = ANY($1)',
  access_token: 'SELECT id, name, user_id FROM access_tokens WHERE id = ANY($1)',
  subscription: `
    SELECT s.id, u.username || ' · ' || m.name AS name, s.user_id
    FROM subscriptions s JOIN users u ON u.id = s.user_id JOIN models m ON m.id = s.model_id WHERE s.id = ANY($1)`,
  route: `
    SELECT r.id, m.name || ' → ' || u.name AS name, NULL AS user_id
    FROM routes r JOIN models m ON m.id = r.model_id JOIN upstreams u ON u.id = r.upstream_id WHERE r.id = ANY($1)`,
};
const namedRow = z.object({
  id: z.coerce.string(),
  name: z.string(),
  user_id: z.number().nullable(),
});

export interface RecordRef {
  kind: string;
  id: string | null;
}

export interface RecordName {
  name: string | null;
  userId: number | null;
}

const UNNAMED: RecordName = { name: null, userId: null };

/** Names of the records that rows of a list are about: one statement for each kind among them. Kinds without names, and what is gone, are null. */
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
      for (const { id, name, user_id: userId } of rows.map((row) => namedRow.parse(row)))
        found.set(`${kind}:${id}`, { name, userId });
    }),
  );
  return ({ kind, id }) => found.get(`${kind}:${id}`) ?? UNNAMED;
}

function isNumbered({ kind, id }: RecordRef): boolean {
  return Object.hasOwn(SELECT, kind) && /^\d{1,10}$/.test(id ?? '') && Number(id) <= INTEGER_MAX;
}
