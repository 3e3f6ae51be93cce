import { createReadStream } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { ADVISORY_LOCKS } from '../advisory-locks.ts';
import type { Backup, BackedUpTable } from './backup-folder.ts';
import { columnList, NO_TIME_LIMIT, PORTABLE_VALUES } from './take-backup.ts';

/** Describes the contents of a database: empty, this very backup, or other data that must not be overwritten. */
export type Target = 'empty' | 'restored' | 'in use';

export async function readTarget(session: pg.ClientBase, backup: Backup): Promise<Target> {
  if (!(await hasSchema(session))) return 'empty';
  const { rows: restores } = await session.query('SELECT 1 FROM restores WHERE backup_id = $1', [
    backup.id,
  ]);
  if (restores.length > 0) return 'restored';
  const { rows } = await session.query(
    'SELECT 1 FROM users UNION ALL SELECT 1 FROM ledger_transactions LIMIT 1',
  );
  return rows.length === 0 ? 'empty' : 'in use';
}

/**
 * Loads the backup into a database that has its schema and no accounts. One transaction does it, so an interrupted load leaves nothing. Control
 * planes that start meanwhile wait.
 */
export async function loadBackup(
  session: pg.ClientBase,
  { folder, backup }: { folder: string; backup: Backup },
  onTable: (table: BackedUpTable) => void,
): Promise<void> {
  await session.query('BEGIN');
  await session.query(`${NO_TIME_LIMIT}; ${PORTABLE_VALUES}`);
  await session.query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.migrations]);
  if ((await readTarget(session, backup)) !== 'empty')
    throw new Error('The database is not empty any more.');
  await withoutTriggers(session, backup, async () => {
    // The backup also holds the rows that migrations write.
    await session.query(
      `TRUNCATE ${backup.tables.map(({ name }) => `"${name}"`).join(', ')} CASCADE`,
    );
    for (const { name, parent, bound } of backup.partitions)
      await session.query(`CREATE TABLE IF NOT EXISTS "${name}" PARTITION OF "${parent}" ${bound}`);
    for (const table of backup.tables) {
      await copyIn(session, path.join(folder, table.file), table);
      onTable(table);
    }
    await forgetEvents(session);
  });
  for (const { name, last } of backup.sequences)
    await session.query('SELECT setval($1, $2)', [name, last]);
  await session.query('INSERT INTO restores (backup_id, taken_at) VALUES ($1, $2)', [
    backup.id,
    backup.taken_at,
  ]);
  await session.query('COMMIT');
}

async function copyIn(
  session: pg.ClientBase,
  file: string,
  { name, columns, rows }: BackedUpTable,
): Promise<void> {
  const target = session.query(copyFrom(`COPY "${name}" (${columnList(columns)}) FROM STDIN`));
  await pipeline(createReadStream(file), createGunzip(), target);
  if (target.rowCount !== rows)
    throw new Error(`${name}: ${target.rowCount} rows were loaded, the backup has ${rows}.`);
}

/** Removes the stored events. Their positions are transaction numbers of another server, so clients of the stream start again. */
async function forgetEvents(session: pg.ClientBase): Promise<void> {
  await session.query('DELETE FROM stream_events');
  await session.query('UPDATE stream_horizon SET xid = pg_current_xact_id()');
}

/** Disables our triggers, which refuse changes of ledgers and write events; the backup already holds their effects. Foreign keys stay checked. */
async function withoutTriggers(
  session: pg.ClientBase,
  { tables }: Backup,
  work: () => Promise<void>,
): Promise<void> {
  for (const { name } of tables) await session.query(`ALTER TABLE "${name}" DISABLE TRIGGER USER`);
  await work();
  // A pending deferred check keeps a table from being altered.
  await session.query('SET CONSTRAINTS ALL IMMEDIATE');
  for (const { name } of tables) await session.query(`ALTER TABLE "${name}" ENABLE TRIGGER USER`);
}

async function hasSchema(session: pg.ClientBase): Promise<boolean> {
  const { rows } = await session.query<{ found: boolean }>(
    "SELECT to_regclass('users') IS NOT NULL AS found",
  );
  return rows[0]?.found === true;
}
