import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import { SESSION_SETTINGS } from '../platform/database/data-source-options.ts';
import {
  asked,
  books,
  codes,
  FIRST_ROWS,
  MAY_NOT,
  OWN_SETTINGS,
  settingsOf,
  succeeds,
  withoutRoles,
  type Addresses,
} from '../testing/roles-under-test.ts';
import { runOpsHere } from '../testing/run-ops-here.ts';

/** Each way to install makes the roles; here what it runs is run on a PostgreSQL of its own, and the runtime role tries to change the books. */
const root = path.join(import.meta.dirname, '../../../..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

/** Is the SQLSTATE of a function of the owner that refuses the request. */
const REFUSED = '22023';
const ATTEMPTS: readonly [sql: string, code: string][] = [
  ['ALTER TABLE ledger_entries DISABLE TRIGGER USER', MAY_NOT],
  ['ALTER TABLE ledger_entries DISABLE TRIGGER ALL', MAY_NOT],
  ['DROP TRIGGER ledger_entries_append_only ON ledger_entries', MAY_NOT],
  ['SET session_replication_role = replica', MAY_NOT],
  [
    "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    MAY_NOT,
  ],
  ['UPDATE ledger_entries SET amount = amount + 1', MAY_NOT],
  ['DELETE FROM ledger_entries', MAY_NOT],
  ['TRUNCATE ledger_entries', MAY_NOT],
  ["UPDATE ledger_transactions SET note = 'x'", MAY_NOT],
  ["SET tollgate.erasing = 'on'; UPDATE ledger_transactions SET note = NULL", MAY_NOT],
  ['DELETE FROM ledger_transactions', MAY_NOT],
  ['UPDATE token_entries SET delta = delta + 1', MAY_NOT],
  ['DELETE FROM token_entries', MAY_NOT],
  ['UPDATE price_versions SET price_per_million = 0', MAY_NOT],
  ["UPDATE activity_log SET action = 'x'", MAY_NOT],
  ['DELETE FROM activity_log', MAY_NOT],
  ['UPDATE usage_events SET charge = 0', MAY_NOT],
  ['DELETE FROM usage_events', MAY_NOT],
  ['DROP TABLE usage_events_default', MAY_NOT],
  ['DELETE FROM migrations', MAY_NOT],
  ["COPY (SELECT 1) TO PROGRAM 'true'", MAY_NOT],
  ["COPY migrations FROM PROGRAM 'true'", MAY_NOT],
  ["COPY (SELECT 1) TO '/tmp/tollgate'", MAY_NOT],
  ["SELECT pg_read_file('PG_VERSION')", MAY_NOT],
  ['CREATE TABLE mine (id integer)', MAY_NOT],
  ['CREATE TEMPORARY TABLE mine (id integer)', MAY_NOT],
  ['CREATE SCHEMA mine', MAY_NOT],
  ["CREATE FUNCTION mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'", MAY_NOT],
  ['CREATE ROLE mine SUPERUSER', MAY_NOT],
  ['ALTER ROLE CURRENT_USER SUPERUSER', MAY_NOT],
  ['SET ROLE OWNER_ROLE', MAY_NOT],
  ['GRANT OWNER_ROLE TO CURRENT_USER', MAY_NOT],
  ["ALTER SYSTEM SET archive_command = 'true'", MAY_NOT],
  // The functions of the owner do what they are for, and no more.
  ['SELECT drop_usage_day(current_date)', REFUSED],
  ["SELECT create_usage_day('infinity')", REFUSED],
  ['SELECT erase_notes((SELECT min(id) FROM users))', REFUSED],
  ['SELECT erase_entries((SELECT min(id) FROM users), false)', REFUSED],
  ['SELECT erase_entries(ARRAY[1]::bigint[])', '42883'],
];

/** Every role may use these until a superuser takes them away. */
const LARGE_OBJECTS: readonly string[] = [
  'SELECT lo_create(0)',
  'SELECT lo_creat(-1)',
  "SELECT lo_from_bytea(0, 'x')",
  "SELECT lo_put(1, 0, 'x')",
];

const WAYS: Readonly<Record<string, (services: Services) => Promise<Addresses>>> = {
  'the embedded launcher': async ({ databaseUrl, databaseUrls: urls }) => {
    const addresses = {
      DATABASE_URL: urls.runtime,
      DATABASE_OWNER_URL: urls.owner,
      DATABASE_READER_URL: urls.reader,
    };
    await succeeds(addresses, 'migrate');
    return { ...addresses, DATABASE_ADMIN_URL: databaseUrl };
  },
  'the service of docker-compose.yml': async (services) => {
    const service = /^ {2}migrate:\n([^]*?)\n\n/m.exec(read('docker-compose.yml'))?.[1] ?? '';
    const command = /command: \[(.*)\]/.exec(service)?.[1]?.split(', ');
    const variables = [...service.matchAll(/^ {6}(\w+): (?:&\S+ )?(\S+)$/gm)];
    const names = variables.map(([, name = '', text = '']) => {
      const url = new URL(text.replaceAll(/\$\{(\w+):\?\}/g, 'password-of-$1'));
      if (name === 'DATABASE_ADMIN_URL') return [name, services.databaseUrl] as const;
      url.host = new URL(services.databaseUrl).host;
      return [name, url.href] as const;
    });
    await withoutRoles(services);
    const env = Object.fromEntries(names);
    expect(Object.keys(env)).toHaveLength(4);
    const [program, ...args] = command ?? [];
    expect(program).toBe('tollgate-ops');
    await succeeds(env, ...args);
    return env;
  },
  'the job of the chart, whose administrator is no superuser': async (services) => {
    const job = read('deploy/helm/tollgate/templates/migrate.yaml');
    const keys = [...job.matchAll(/"keys" \(list ([^)]*)\)/g)].flatMap(([, list = '']) =>
      [...list.matchAll(/"(\w+)"/g)].map(([, key = '']) => key),
    );
    const command = /command: \[node, apps\/control-plane\/dist\/ops\.js, (\w+)\]/.exec(job)?.[1];
    const admin = await managedDatabase(services);
    const as = (role: string): string => {
      const url = new URL(admin);
      Object.assign(url, { username: `chart_${role}`, password: `p${role}` });
      return url.href;
    };
    const secret: Addresses = {
      DATABASE_URL: as('runtime'),
      DATABASE_OWNER_URL: as('owner'),
      DATABASE_READER_URL: as('reader'),
      DATABASE_ADMIN_URL: admin,
    };
    const env = Object.fromEntries(keys.map((key) => [key, secret[key] ?? '']));
    expect(Object.values(env)).not.toContain('');
    await succeeds(env, command ?? '');
    return secret;
  },
};

describe.each(Object.entries(WAYS))('%s', (_, install) => {
  let services: Services;
  let addresses: Addresses;
  beforeAll(async () => {
    services = await startServices({ redis: false });
    addresses = await install(services);
    await asked(databaseOf(services, addresses), FIRST_ROWS);
  }, 120_000);
  afterAll(() => services?.stop());
  const url = (name: string): string => addresses[name] ?? '';

  test('the runtime role may not change the books, run programs or make tables (S60)', async () => {
    const owner = new URL(url('DATABASE_OWNER_URL')).username;
    const before = await books(databaseOf(services, addresses));
    const answers = await codes(
      url('DATABASE_URL'),
      ATTEMPTS.map(([sql]) => sql.replace('OWNER_ROLE', owner)),
    );
    expect(ATTEMPTS.map(([sql], index) => [sql, answers[index]])).toEqual(ATTEMPTS);
    expect(await books(databaseOf(services, addresses))).toEqual(before);
  });

  test('the runtime role makes no large objects, where the administrator may take that right away', async () => {
    const mayRevoke = await asked(
      url('DATABASE_ADMIN_URL'),
      'SELECT rolsuper FROM pg_roles WHERE rolname = current_user',
    );
    const answers = await codes(url('DATABASE_URL'), LARGE_OBJECTS);
    if (mayRevoke[0]?.['rolsuper'] === true)
      expect(answers).toEqual(LARGE_OBJECTS.map(() => MAY_NOT));
    else expect(answers[0]).toBe('done');
  });

  test('settings that the runtime role gives itself change nothing for control planes', async () => {
    const runtime = url('DATABASE_URL');
    const names = [
      ...Object.keys(SESSION_SETTINGS),
      'statement_timeout',
      'idle_in_transaction_session_timeout',
    ];
    const settings = () => settingsOf(runtime, names);
    const before = await settings();
    expect(OWN_SETTINGS.map((each) => each.split(' = ')[0])).toEqual(names);
    try {
      const changes = OWN_SETTINGS.map((each) => `ALTER ROLE CURRENT_USER SET ${each}`);
      expect(await codes(runtime, changes)).toEqual(changes.map(() => 'done'));
      expect(await settings()).toEqual(before);
    } finally {
      await asked(
        databaseOf(services, addresses),
        `ALTER ROLE ${new URL(runtime).username} RESET ALL`,
      );
    }
  });

  test('the runtime role adds entries, makes days and drops those that are marked', async () => {
    const runtime = url('DATABASE_URL');
    await asked(runtime, FIRST_ROWS);
    await asked(runtime, "SELECT create_usage_day('2020-01-01')");
    await asked(runtime, "UPDATE usage_dropped_days SET before = '2020-01-02'");
    await asked(runtime, "SELECT lock_usage_day('2020-01-01'), drop_usage_day('2020-01-01')");
    expect(await asked(runtime, "SELECT to_regclass('usage_events_20200101') AS day")).toEqual([
      { day: null },
    ]);
    // Its name is that of a day that is not marked.
    expect(await codes(runtime, ["SELECT drop_usage_day('2020-01-03 BC')"])).toEqual([REFUSED]);
  });

  test('the reader reads everything and changes nothing', async () => {
    const reader = url('DATABASE_READER_URL');
    expect(await asked(reader, 'SELECT count(*)::int > 0 AS has FROM ledger_entries')).toEqual([
      { has: true },
    ]);
    const attempts = [
      "INSERT INTO users (username, password_hash) VALUES ('x', 'x')",
      'UPDATE users SET role = role',
      'DELETE FROM alerts',
      "SELECT create_usage_day('2020-01-01')",
      "COPY (SELECT 1) TO PROGRAM 'true'",
    ];
    expect(await codes(reader, attempts)).toEqual(attempts.map(() => MAY_NOT));
    expect(await runOpsHere(addresses, 'verify')).toMatchObject({ status: 0 });
    expect(await runOpsHere(addresses, 'audit')).toMatchObject({ status: 0 });
  });

  test('all tables belong to the owner, functions with its rights have a fixed search path, and what is append-only has no right to change', async () => {
    const administrator = databaseOf(services, addresses);
    const [owner, runtime] = ['DATABASE_OWNER_URL', 'DATABASE_URL'].map(
      (name) => new URL(url(name)).username,
    );
    expect(
      await asked(
        administrator,
        `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v') AND pg_get_userbyid(relowner) <> '${owner}'`,
      ),
    ).toEqual([]);
    const definers = await asked(
      administrator,
      `SELECT proname, proconfig, has_function_privilege('public', oid, 'EXECUTE') AS open FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace`,
    );
    expect(definers).toHaveLength(5);
    for (const definer of definers)
      expect(definer).toMatchObject({
        proconfig: ['search_path=pg_catalog, pg_temp'],
        open: false,
      });
    const guarded = await asked(
      administrator,
      `SELECT DISTINCT tgrelid::regclass::text AS name, has_table_privilege('${runtime}', tgrelid, 'UPDATE, DELETE, TRUNCATE, TRIGGER, MAINTAIN') AS may
       FROM pg_trigger WHERE tgfoid = 'refuse_change'::regproc ORDER BY 1`,
    );
    expect(guarded.map(({ name }) => name)).toEqual([
      'activity_log',
      'budget_entries',
      'ledger_entries',
      'ledger_transactions',
      'price_versions',
      'token_entries',
    ]);
    expect(guarded.filter(({ may }) => may)).toEqual([]);
  });

  test('a repetition changes nothing', async () => {
    const rights = () =>
      asked(
        databaseOf(services, addresses),
        "SELECT relname, relacl::text, pg_get_userbyid(relowner) AS owner FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1",
      );
    const before = await rights();
    await succeeds(addresses, 'migrate');
    expect(await rights()).toEqual(before);
  });
});

/** Returns the installation's database as the superuser of its server. */
function databaseOf({ databaseUrl }: Services, addresses: Addresses): string {
  const url = new URL(databaseUrl);
  url.pathname = new URL(addresses['DATABASE_URL'] ?? '').pathname;
  return url.href;
}

/** Makes an administrator as a managed service has it: it makes roles and owns the database. Returns its address. */
async function managedDatabase({ databaseUrl }: Services): Promise<string> {
  await asked(databaseUrl, "CREATE ROLE managed LOGIN CREATEROLE PASSWORD 'managed'");
  await asked(databaseUrl, 'CREATE DATABASE managed OWNER managed');
  const url = new URL(databaseUrl);
  Object.assign(url, { username: 'managed', password: 'managed', pathname: '/managed' });
  return url.href;
}
