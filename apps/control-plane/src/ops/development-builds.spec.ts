import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runOps, startServices, type Services } from '@tollgate/harness';
import { dataSourceOptions } from '../platform/database/data-source-options.ts';
import { openDatabase } from '../platform/database/open-database.ts';
import { asked, withoutRoles } from '../testing/roles-under-test.ts';
import { runOpsHere } from '../testing/run-ops-here.ts';

/** Makes the database of a development build, whose tables are not those of any release. */
const DEVELOPED = `
  CREATE TABLE migrations (id serial PRIMARY KEY, timestamp bigint NOT NULL, name varchar NOT NULL);
  INSERT INTO migrations (timestamp, name) VALUES (1763683200000, 'Initial1763683200000'), (1763686900000, 'Payments1763686900000');
  CREATE TABLE users (id integer PRIMARY KEY, username text NOT NULL);
  INSERT INTO users VALUES (1, 'ada')`;
const REFUSED = /is of a development build.*nothing was changed\.\n {2}Fix: start with an empty/;

let services: Services;
beforeAll(async () => {
  services = await startServices({ redis: false });
}, 60_000);
afterAll(() => services?.stop());

/** All that a migration, or the command that makes the roles, could change. */
const contentOf = (url: string) =>
  asked(
    url,
    `SELECT (SELECT json_agg(rolname ORDER BY 1) FROM pg_roles) AS roles,
       (SELECT json_agg(m) FROM migrations m) AS migrations, (SELECT json_agg(u) FROM users u) AS users,
       (SELECT json_agg(json_build_array(relname, relowner, relacl::text) ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace) AS relations`,
  );

test('a database of a development build is refused unchanged, with what to do, by the command that migrates and by a control plane', async () => {
  const { databaseUrl, databaseUrls: urls } = services;
  await asked(databaseUrl, DEVELOPED);
  const runtime = new URL(urls.runtime).username;
  await asked(databaseUrl, `GRANT SELECT ON migrations, users TO "${runtime}"`);
  const options = dataSourceOptions({ DATABASE_URL: urls.runtime, DATABASE_POOL_MAX: 2 });
  await expect(openDatabase(options)).rejects.toThrow(REFUSED);
  const asOwner = dataSourceOptions({ DATABASE_URL: databaseUrl, DATABASE_POOL_MAX: 2 });
  await expect(openDatabase(asOwner)).rejects.toThrow(REFUSED);
  await asked(databaseUrl, `REVOKE ALL ON migrations, users FROM "${runtime}"`);
  await withoutRoles(services);
  const before = await contentOf(databaseUrl);
  const refused = { status: 2, err: expect.stringMatching(REFUSED) };
  const env = { DATABASE_URL: urls.runtime, DATABASE_OWNER_URL: urls.owner };
  expect(await runOps({ ...env, DATABASE_ADMIN_URL: databaseUrl }, 'migrate')).toMatchObject(
    refused,
  );
  const alone = { DATABASE_URL: databaseUrl };
  expect(await runOpsHere(alone, 'migrate')).toMatchObject(refused);
  expect(await runOpsHere(alone, 'migrate', '--dry-run')).toMatchObject(refused);
  expect(await contentOf(databaseUrl)).toEqual(before);
}, 60_000);
