import type pg from 'pg';
import { z } from 'zod';

const tableRow = z.object({
  name: z.string(),
  columns: z.array(z.string()),
  refers_to: z.array(z.string()),
  estimate: z.coerce.number(),
});
export type TableShape = z.output<typeof tableRow>;
const partitionRow = z.object({ name: z.string(), parent: z.string(), bound: z.string() });
const sequenceRow = z.object({ name: z.string(), last: z.string() });

/** The migrations write these tables; a restore never loads them. */
const OWN_TABLES = ['migrations', 'typeorm_metadata'];

/** Returns every table of the schema, referenced tables first; a partitioned table counts as one. */
export async function readTables(session: pg.ClientBase): Promise<TableShape[]> {
  const { rows } = await session.query(
    `SELECT c.relname AS name,
       ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum) AS columns,
       ARRAY(SELECT DISTINCT f.relname::text FROM pg_constraint k JOIN pg_class f ON f.oid = k.confrelid WHERE k.conrelid = c.oid AND k.contype = 'f' AND f.oid <> c.oid) AS refers_to,
       (SELECT coalesce(sum(greatest(p.reltuples, 0)), 0)::bigint FROM pg_class p WHERE p.oid = c.oid AND c.relkind = 'r' OR p.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = c.oid)) AS estimate
     FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> ALL($1)
     ORDER BY c.relname`,
    [OWN_TABLES],
  );
  return inLoadingOrder(rows.map((row) => tableRow.parse(row)));
}

export async function readPartitions(
  session: pg.ClientBase,
): Promise<z.output<typeof partitionRow>[]> {
  const { rows } = await session.query(
    `SELECT c.relname AS name, p.relname AS parent, pg_get_expr(c.relpartbound, c.oid) AS bound
     FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid JOIN pg_class p ON p.oid = i.inhparent
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' ORDER BY c.relname`,
  );
  return rows.map((row) => partitionRow.parse(row));
}

/** Returns the sequences that have given out a number. */
export async function readSequences(
  session: pg.ClientBase,
): Promise<z.output<typeof sequenceRow>[]> {
  const { rows } = await session.query(
    `SELECT sequencename AS name, last_value::text AS last FROM pg_sequences
     WHERE schemaname = current_schema() AND last_value IS NOT NULL AND sequencename <> ALL($1) ORDER BY 1`,
    [OWN_TABLES.map((table) => `${table}_id_seq`)],
  );
  return rows.map((row) => sequenceRow.parse(row));
}

function inLoadingOrder(tables: readonly TableShape[]): TableShape[] {
  const ordered: TableShape[] = [];
  const waiting = new Map(tables.map((table) => [table.name, table]));
  while (waiting.size > 0) {
    const ready = [...waiting.values()].filter(({ refers_to }) =>
      refers_to.every((name) => !waiting.has(name)),
    );
    if (ready.length === 0)
      throw new Error(`tables refer to each other: ${[...waiting.keys()].join(', ')}`);
    for (const table of ready) {
      ordered.push(table);
      waiting.delete(table.name);
    }
  }
  return ordered;
}
