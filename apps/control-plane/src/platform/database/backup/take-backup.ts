import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { sha256Of, syncFile } from '../../files/durable-files.ts';
import { beginBackup, type Backup, type BackedUpTable } from './backup-folder.ts';
import { readPartitions, readSequences, readTables, type TableShape } from './database-shape.ts';

/** Fixes the text form of values, whatever the server's own settings are. */
export const PORTABLE_VALUES =
  "SET LOCAL TIME ZONE 'UTC'; SET LOCAL DateStyle = 'ISO'; SET LOCAL IntervalStyle = 'postgres'; SET LOCAL extra_float_digits = 3; SET LOCAL client_encoding = 'UTF8'";
/** A large table takes longer to read than any request may, and a slow disk leaves the transaction idle. */
export const NO_TIME_LIMIT =
  'SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0';

export interface TakenBackup {
  folder: string;
  backup: Backup;
}

/** Returns the tables that a backup would hold, with PostgreSQL's statistics. */
export function planBackup(session: pg.ClientBase): Promise<TableShape[]> {
  return readTables(session);
}

/**
 * Writes all tables as they are at one moment into a new folder of `parent`, one gzipped file per table. The folder is named after that moment, and
 * gets the name only after all of it is on disk.
 */
export async function takeBackup(
  session: pg.ClientBase,
  parent: string,
  onTable: (table: BackedUpTable) => void,
): Promise<TakenBackup> {
  const takenAt = new Date();
  const { folder, finish } = await beginBackup(parent, takenAt);
  await session.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await session.query(`${NO_TIME_LIMIT}; ${PORTABLE_VALUES}`);
  const tables: BackedUpTable[] = [];
  for (const shape of await readTables(session)) {
    const table = await copyOut(session, folder, shape);
    tables.push(table);
    onTable(table);
  }
  const backup: Backup = {
    format: 1,
    id: randomUUID(),
    taken_at: takenAt.toISOString(),
    migrations: await migrationsOf(session),
    tables,
    partitions: await readPartitions(session),
    // Sequences are read last, so that no number that was given out meanwhile is given out again.
    sequences: await readSequences(session),
  };
  await session.query('COMMIT');
  return { folder: await finish(backup), backup };
}

async function copyOut(
  session: pg.ClientBase,
  folder: string,
  { name, columns }: TableShape,
): Promise<BackedUpTable> {
  const file = `${name}.copy.gz`;
  const target = path.join(folder, file);
  const source = session.query(
    copyTo(`COPY (SELECT ${columnList(columns)} FROM "${name}") TO STDOUT`),
  );
  await pipeline(source, createGzip({ level: 1 }), createWriteStream(target, { mode: 0o600 }));
  await syncFile(target);
  const [{ size: bytes }, sha256] = [await stat(target), await sha256Of(target)];
  return { name, columns, rows: source.rowCount, file, bytes, sha256 };
}

export function columnList(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(', ');
}

async function migrationsOf(session: pg.ClientBase): Promise<string[]> {
  const { rows } = await session.query<{ name: string }>('SELECT name FROM migrations ORDER BY id');
  return rows.map(({ name }) => name);
}
