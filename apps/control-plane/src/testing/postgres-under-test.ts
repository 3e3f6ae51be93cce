import { readdirSync } from 'node:fs';
import path from 'node:path';
import { preparedKey, preparedPostgres, type PreparedPostgres } from '@tollgate/harness';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../platform/database/data-source-options.ts';
import { migrate } from '../platform/database/migrate.ts';

const SCHEMA_FOLDER = path.join(import.meta.dirname, '..', 'platform', 'database');

/** Is far from the ids of accounts and models, so that one of them in its place finds nothing. */
const FIRST_SUBSCRIPTION = 5_000_027;

/** Makes a database with this release's schema, so that each suite copies it instead of running every migration. */
export function migratedPostgres(): Promise<PreparedPostgres> {
  const files = readdirSync(SCHEMA_FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .toSorted()
    .map((file) => path.join(SCHEMA_FOLDER, file));
  return preparedPostgres(
    preparedKey([import.meta.filename, ...files]),
    async ({ owner, runtime, reader }) => {
      const dataSource = await new DataSource(
        dataSourceOptions({ DATABASE_URL: owner, DATABASE_POOL_MAX: 2 }),
      ).initialize();
      await migrate(dataSource, { runtime: nameIn(runtime), reader: nameIn(reader) });
      await dataSource.query(
        `ALTER TABLE subscriptions ALTER COLUMN id RESTART WITH ${FIRST_SUBSCRIPTION}`,
      );
      await dataSource.destroy();
    },
  );
}

const nameIn = (url: string): string => new URL(url).username;

/** Connects to a database of a suite, with further settings of its sessions. */
export function connectedTo(databaseUrl: string, settings = ''): Promise<DataSource> {
  const options = dataSourceOptions({ DATABASE_URL: databaseUrl, DATABASE_POOL_MAX: 4 });
  const { extra } = options;
  return new DataSource({
    ...options,
    extra: { ...extra, options: `${extra.options} ${settings}` },
  }).initialize();
}
