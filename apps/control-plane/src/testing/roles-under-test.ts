import { expect } from '@jest/globals';
import type { Services } from '@tollgate/harness';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../platform/database/data-source-options.ts';
import { runOpsHere } from './run-ops-here.ts';

/** Holds the addresses of an installation, by the name of their variable. */
export type Addresses = Record<string, string>;

/** Is SQLSTATE insufficient_privilege. */
export const MAY_NOT = '42501';

/** Settings that a role may make for itself, other than a control plane needs them. */
export const OWN_SETTINGS: readonly string[] = [
  "search_path = ''",
  "timezone = 'Asia/Shanghai'",
  'jit = on',
  "default_transaction_isolation = 'serializable'",
  'default_transaction_read_only = on',
  'lock_timeout = 1',
  "DateStyle = 'German'",
  "IntervalStyle = 'iso_8601'",
  "bytea_output = 'escape'",
  'standard_conforming_strings = off',
  'tcp_keepalives_idle = 7200',
  'tcp_keepalives_interval = 75',
  'tcp_keepalives_count = 9',
  'statement_timeout = 1',
  'idle_in_transaction_session_timeout = 1',
];

/** Inserts an adjustment that closes, and an account. */
export const FIRST_ROWS = `
  WITH t AS (INSERT INTO ledger_transactions (kind, reference, note) VALUES ('adjustment', gen_random_uuid(), 'n') RETURNING id)
  , e AS (INSERT INTO ledger_entries (transaction_id, ledger_account_id, amount, balance_after)
    SELECT t.id, a.id, change, a.balance + change FROM t, ledger_accounts a JOIN (VALUES (1, 5), (2, -5)) AS c (id, change) USING (id)
    RETURNING ledger_account_id, amount)
  UPDATE ledger_accounts a SET balance = balance + e.amount FROM e WHERE a.id = e.ledger_account_id;
  INSERT INTO users (username, password_hash) VALUES ('u' || gen_random_uuid(), 'x')`;

export async function asked(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Returns the SQLSTATE of each statement. */
export async function codes(url: string, statements: readonly string[]): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const found: unknown[] = [];
  for (const sql of statements)
    found.push(
      await client.query(sql).then(
        () => 'done',
        ({ code }: { code: unknown }) => code,
      ),
    );
  await client.end();
  return found;
}

export async function succeeds(env: Addresses, ...args: string[]): Promise<void> {
  expect(await runOpsHere(env, ...args)).toMatchObject({ status: 0 });
}

/** Returns the state that an attempt must leave unchanged. */
export async function books(url: string): Promise<unknown> {
  return [
    await asked(url, 'SELECT * FROM ledger_entries ORDER BY id'),
    await asked(url, 'SELECT * FROM ledger_transactions ORDER BY id'),
    await asked(url, 'SELECT tgname, tgenabled FROM pg_trigger ORDER BY 1, 2'),
  ];
}

/** Starts a server as another program would. */
export async function withoutRoles({ databaseUrl, databaseUrls: urls }: Services): Promise<void> {
  for (const url of [urls.runtime, urls.owner, urls.reader]) {
    const { username } = new URL(url);
    await asked(databaseUrl, `DROP OWNED BY ${username}; DROP ROLE ${username}`);
  }
}

/** Reads the settings of a connection of the control plane. */
export async function settingsOf(url: string, names: readonly string[]): Promise<unknown> {
  const options = dataSourceOptions({ DATABASE_URL: url, DATABASE_POOL_MAX: 1 });
  const plane = await new DataSource(options).initialize();
  try {
    return await plane.query(
      `SELECT name, current_setting(name) AS value FROM unnest('{${names.join(',')}}'::text[]) name`,
    );
  } finally {
    await plane.destroy();
  }
}
