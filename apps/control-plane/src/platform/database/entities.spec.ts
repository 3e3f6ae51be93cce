import { globSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import { DataSource, type EntityMetadata } from 'typeorm';
import { migratedPostgres } from '../../testing/postgres-under-test.ts';
import { dataSourceOptions } from './data-source-options.ts';

const SOURCES = path.resolve(import.meta.dirname, '../..');

let services: Services;
let dataSource: DataSource;

beforeAll(async () => {
  services = await startServices({ postgres: await migratedPostgres(), redis: false });
  const files = globSync('**/*.entity.ts', { cwd: SOURCES });
  const modules = await Promise.all(files.map((file) => import(path.join(SOURCES, file))));
  dataSource = await new DataSource({
    ...dataSourceOptions({ DATABASE_URL: services.databaseUrl, DATABASE_POOL_MAX: 1 }),
    entities: modules.flatMap((exports: object) =>
      Object.values(exports).filter((value) => typeof value === 'function'),
    ),
  }).initialize();
}, 60_000);
afterAll(async () => {
  await dataSource?.destroy();
  await services?.stop();
});

test('every column of an entity is in its table, and is nullable in both or in neither', async () => {
  const rows: { name: string }[] = await dataSource.query(
    `SELECT table_name || '.' || column_name || CASE is_nullable WHEN 'YES' THEN ' or null' ELSE '' END AS name
       FROM information_schema.columns WHERE table_schema = 'public'`,
  );
  const inSchema = new Set(rows.map(({ name }) => name));
  const stated = dataSource.entityMetadatas.flatMap(columnsOf);
  expect(stated.length).toBeGreaterThan(100);
  expect(stated.filter((column) => !inSchema.has(column))).toEqual([]);
});

function columnsOf({ tableName, columns }: EntityMetadata): string[] {
  return columns.map(
    ({ databaseName, isNullable }) => `${tableName}.${databaseName}${isNullable ? ' or null' : ''}`,
  );
}
