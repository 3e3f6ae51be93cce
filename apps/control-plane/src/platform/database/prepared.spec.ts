import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from './data-source-options.ts';
import { prepared } from './prepared.ts';

const OFTEN = prepared('SELECT $1::int + 1 AS sum');
const PREPARED = 'SELECT statement FROM pg_prepared_statements WHERE statement LIKE $1';

let services: Services;
let dataSource: DataSource;

beforeAll(async () => {
  services = await startServices({ redis: false });
  const options = dataSourceOptions({ DATABASE_URL: services.databaseUrl, DATABASE_POOL_MAX: 1 });
  dataSource = await new DataSource({ ...options, migrations: [] }).initialize();
}, 60_000);
afterAll(async () => {
  await dataSource?.destroy();
  await services?.stop();
});

test('a statement that runs often is prepared once, others are not', async () => {
  for (let value = 0; value < 10; value += 1)
    expect(await dataSource.query(OFTEN, [value])).toEqual([{ sum: value + 1 }]);
  expect(await dataSource.query('SELECT $1::int + 2 AS sum', [1])).toEqual([{ sum: 3 }]);
  expect(await dataSource.query(PREPARED, ['SELECT $1::int +%'])).toEqual([{ statement: OFTEN }]);
});

test('it fails as any other, and works again after that', async () => {
  await expect(dataSource.query(OFTEN, ['no number'])).rejects.toThrow('invalid input syntax');
  await dataSource.transaction(async (tx) => {
    expect(await tx.query(OFTEN, [41])).toEqual([{ sum: 42 }]);
  });
});
