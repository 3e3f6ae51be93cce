import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from './data-source-options.ts';
import { prepared, preparedName } from './prepared.ts';
import { Transactions } from './transactions.ts';

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

describe('a connection that has lost its plan', () => {
  const NOTES = prepared('SELECT n FROM notes ORDER BY n');
  const losses: [string, string][] = [
    ['as a migration changed its columns', 'ALTER TABLE notes ALTER n TYPE text'],
    ['as its session was reset', 'DISCARD ALL'],
  ];
  beforeEach(async () => {
    // The connection has never lost one.
    await dataSource.destroy();
    await dataSource.initialize();
    await dataSource.query('DROP TABLE IF EXISTS notes');
    await dataSource.query('CREATE TABLE notes AS SELECT 7 AS n');
    await dataSource.query(NOTES);
  });

  test.each(losses)('answers at once, %s', async (_why, loss) => {
    await dataSource.query(loss);
    const [row] = await dataSource.query(NOTES);
    expect(Number(row.n)).toBe(7);
  });

  test.each(losses)('repeats its transaction, %s', async (_why, loss) => {
    await dataSource.query(loss);
    const run = () => new Transactions(dataSource).run((tx) => tx.query(NOTES));
    for (const [row] of [await run(), await run()]) expect(Number(row.n)).toBe(7);
  });
});

test('a name that another server connection has taken is not prepared under', async () => {
  const taken = prepared('SELECT $1::int + 3 AS sum');
  await dataSource.query(`PREPARE ${preparedName(taken)}_0 AS SELECT 0 AS sum`);
  expect(await dataSource.query(taken, [4])).toEqual([{ sum: 7 }]);
});

test('a statement has the same name in every process', () => {
  expect(preparedName(OFTEN)).toBe('tollgate_cc96ef76cc87b9e16034');
});
