import { startServices } from '@tollgate/harness';
import {
  connectedTo,
  migratedPostgres,
} from '../../../../apps/control-plane/src/testing/postgres-under-test.ts';
import { fillServer } from '../postgres/first-rows.ts';

/** These functions are found before PostgreSQL's own, so that time is what a sequence says. */
const CLOCK = `
  CREATE SCHEMA clock;
  CREATE TABLE clock.time (ms bigint NOT NULL);
  INSERT INTO clock.time VALUES (0);
  CREATE FUNCTION clock.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT to_timestamp(ms / 1000.0) FROM clock.time';
  CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT to_timestamp(ms / 1000.0) FROM clock.time';
  DO $$ DECLARE one record; BEGIN
    FOR one IN SELECT d.adrelid::regclass AS owner, a.attname AS name FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
      WHERE pg_get_expr(d.adbin, d.adrelid) = 'now()'
    LOOP EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT clock.now()', one.owner, one.name); END LOOP;
  END $$;`;
const CHANGED_AT = `
  WITH given AS (SELECT to_timestamp($1::bigint / 1000.0) AS first, to_timestamp(0) AS others),
    ceilings AS (UPDATE ceilings SET updated_at = others FROM given),
    accounts AS (UPDATE users SET updated_at = CASE id WHEN 1 THEN first ELSE others END FROM given),
    subscribed AS (UPDATE subscriptions SET revised_at = CASE user_id WHEN 1 THEN first ELSE others END FROM given)
  UPDATE api_keys SET updated_at = CASE user_id WHEN 1 THEN first ELSE others END FROM given`;
const SETTINGS = '-c search_path=clock,pg_catalog,public';

export type Database = Awaited<ReturnType<typeof connectedTo>>;

/** Starts a PostgreSQL with the product's schema; each sequence gets a copy of its first rows. */
export async function startServer() {
  const services = await startServices({ postgres: await migratedPostgres(), redis: false });
  const first = await connectedTo(services.databaseUrl);
  await first.query(CLOCK);
  await fillServer(first);
  const template = new URL(services.databaseUrl).pathname.slice(1);
  await first.destroy();
  const administrator = await connectedTo(await services.createDatabase());
  let copies = 0;
  return {
    /** The time is at noon, so that no sequence ends on another day. */
    noonMs: async (): Promise<number> => {
      const [row] = await administrator.query(
        "SELECT extract(epoch FROM current_date + interval '12 hours')::int AS noon",
      );
      return row.noon * 1_000;
    },
    /** Copies the databases as if Redis' data of the first account had changed at that moment, and all else long before. */
    copy: async (changedMs: number): Promise<{ database: Database; drop: () => Promise<void> }> => {
      copies += 1;
      const name = `sequence_${copies}`;
      await administrator.query(`CREATE DATABASE ${name} TEMPLATE "${template}"`);
      const url = new URL(services.databaseUrl);
      url.pathname = `/${name}`;
      const database = await connectedTo(url.href, SETTINGS);
      await database.query(CHANGED_AT, [changedMs]);
      const drop = async (): Promise<void> => {
        await database.destroy();
        await administrator.query(`DROP DATABASE ${name}`);
      };
      return { database, drop };
    },
    stop: async (): Promise<void> => {
      await administrator.destroy();
      await services.stop();
    },
  };
}
export type Server = Awaited<ReturnType<typeof startServer>>;
