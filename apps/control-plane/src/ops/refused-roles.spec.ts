import { rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import {
  asked,
  books,
  FIRST_ROWS,
  MAY_NOT,
  succeeds,
  withoutRoles,
} from '../testing/roles-under-test.ts';
import { runOpsHere } from '../testing/run-ops-here.ts';

const MORE = /may do more than the runtime [^]*Fix: .*runtime/;
/** Each lets a role change the books, or read them, around its grants: an attribute, or the membership of one of PostgreSQL's own roles. */
const POWERS = [
  ...['SUPERUSER', 'CREATEROLE', 'CREATEDB', 'REPLICATION', 'BYPASSRLS'].map(
    (name) => [name, `ALTER ROLE "NAME" ${name}`, `ALTER ROLE "NAME" NO${name}`] as const,
  ),
  ...[
    'pg_execute_server_program',
    'pg_read_server_files',
    'pg_write_server_files',
    'pg_write_all_data',
    'pg_create_subscription',
  ].map((name) => [name, `GRANT ${name} TO "NAME"`, `REVOKE ${name} FROM "NAME"`] as const),
];

describe('what is refused, with its remedy', () => {
  let services: Services;
  beforeAll(async () => {
    services = await startServices({ redis: false });
  }, 60_000);
  afterAll(() => services?.stop());

  test('a runtime role that is a superuser, or the owner', async () => {
    const { databaseUrl, databaseUrls: urls } = services;
    const env = {
      DATABASE_ADMIN_URL: databaseUrl,
      DATABASE_OWNER_URL: urls.owner,
      DATABASE_URL: databaseUrl,
    };
    for (const [changed, role] of [
      [{}, 'runtime'],
      [{ DATABASE_URL: urls.runtime, DATABASE_READER_URL: urls.owner }, 'reader'],
    ] as const)
      expect(await runOpsHere({ ...env, ...changed }, 'migrate')).toMatchObject({
        status: 2,
        err: expect.stringMatching(`may do more than the ${role} [^]*Fix: .*${role}`),
      });
  });

  test.each(POWERS)('a runtime role with %s', async (power, grant, revoke) => {
    const { databaseUrl, databaseUrls: urls } = services;
    const env = {
      DATABASE_ADMIN_URL: databaseUrl,
      DATABASE_OWNER_URL: urls.owner,
      DATABASE_URL: urls.runtime,
    };
    const { username } = new URL(urls.runtime);
    await asked(databaseUrl, grant.replace('NAME', username));
    try {
      const { status, err } = await runOpsHere(env, 'migrate');
      expect([power, status, err]).toEqual([power, 2, expect.stringMatching(MORE)]);
    } finally {
      await asked(databaseUrl, revoke.replace('NAME', username));
    }
  });

  test('roles that do not exist, and tables of another role', async () => {
    const { databaseUrls: urls } = services;
    const unknown = new URL(urls.runtime);
    unknown.username = 'unknown';
    const env = { DATABASE_OWNER_URL: urls.owner, DATABASE_URL: unknown.href };
    expect(await runOpsHere(env, 'migrate')).toMatchObject({
      status: 2,
      err: expect.stringMatching(/no role unknown.*\n {2}Fix: .*DATABASE_ADMIN_URL/),
    });
    const other = await services.createDatabase();
    await succeeds({ DATABASE_URL: other }, 'migrate');
    const named = services.urlsOf(other);
    const both = { DATABASE_OWNER_URL: named.owner, DATABASE_URL: named.runtime };
    expect(await runOpsHere(both, 'migrate')).toMatchObject({
      status: 2,
      err: expect.stringMatching(
        /belongs to the role tollgate, and .*\n {2}Fix: .*DATABASE_ADMIN_URL/,
      ),
    });
    await succeeds({ ...both, DATABASE_ADMIN_URL: other }, 'migrate');
    await expect(asked(named.runtime, 'DELETE FROM ledger_entries')).rejects.toMatchObject({
      code: MAY_NOT,
    });
  }, 60_000);
});

test('a data folder that a superuser has migrated starts, with its tables handed to the owner', async () => {
  const services = await startServices({ redis: false });
  try {
    const { databaseUrl, databaseUrls: urls, folder, postgres } = services;
    await withoutRoles(services);
    await succeeds({ DATABASE_URL: databaseUrl }, 'migrate');
    await asked(databaseUrl, FIRST_ROWS);
    const before = await books(databaseUrl);
    await postgres.stop();
    rmSync(path.join(folder, 'postgres', 'tollgate-roles'));
    await postgres.start();
    await succeeds({ DATABASE_URL: urls.runtime, DATABASE_OWNER_URL: urls.owner }, 'migrate');
    expect(await books(databaseUrl)).toEqual(before);
    expect(await asked(urls.runtime, 'SELECT count(*)::int AS n FROM ledger_entries')).toEqual([
      { n: 2 },
    ]);
    await expect(
      asked(urls.runtime, 'ALTER TABLE ledger_entries DISABLE TRIGGER USER'),
    ).rejects.toMatchObject({ code: MAY_NOT });
  } finally {
    await services.stop();
  }
}, 120_000);
