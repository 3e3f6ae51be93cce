import { afterAll, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from './data-source-options.ts';
import { repeatedLook } from './repeated-looks.ts';

const ROWS = 'SELECT n FROM looked_at ORDER BY n';
const ABOVE = 'SELECT n FROM looked_at WHERE n > $1 ORDER BY n';

let services: Services;
let dataSource: DataSource;

beforeAll(async () => {
  services = await startServices({ redis: false });
  const options = dataSourceOptions({ DATABASE_URL: services.databaseUrl, DATABASE_POOL_MAX: 4 });
  dataSource = await new DataSource({ ...options, migrations: [] }).initialize();
}, 60_000);
beforeEach(async () => {
  await dataSource.query('DROP TABLE IF EXISTS looked_at');
  await dataSource.query('CREATE TABLE looked_at (n int)');
});
afterAll(async () => {
  jest.restoreAllMocks();
  await dataSource?.destroy();
  await services?.stop();
});

const look = async (sql = ROWS, parameters: unknown[] = []): Promise<number[]> =>
  (await repeatedLook(dataSource, sql, parameters)).map((row) => (row as { n: number }).n);
const put = (n: number): Promise<unknown> =>
  dataSource.query('INSERT INTO looked_at VALUES ($1)', [n]);

test('asks one small statement for all looks of a moment while nothing is written', async () => {
  await put(1);
  await Promise.all([look(), look(ABOVE, [0]), look(ABOVE, [1])]);
  const query = jest.spyOn(dataSource, 'query');
  const found = await Promise.all([look(), look(ABOVE, [0]), look(ABOVE, [1])]);
  expect(found).toEqual([[1], [1], []]);
  expect(query.mock.calls.map(([sql]) => sql)).toEqual([
    expect.stringContaining('pg_current_snapshot()'),
  ]);
  query.mockRestore();
});

test('sees each change once it is committed, however long its transaction was open and whatever others do', async () => {
  for (let n = 1; n <= 20; n += 1) {
    const [slow, other] = [dataSource.createQueryRunner(), dataSource.createQueryRunner()];
    await Promise.all([slow.startTransaction(), other.startTransaction()]);
    await slow.query('INSERT INTO looked_at VALUES ($1)', [n]);
    await other.query('INSERT INTO looked_at VALUES (0)');
    expect(await look()).toHaveLength(n - 1);
    await (n % 2 === 0 ? other.rollbackTransaction() : slow.commitTransaction());
    expect(await look()).toHaveLength(n % 2 === 0 ? n - 1 : n);
    await (n % 2 === 0 ? slow.commitTransaction() : other.rollbackTransaction());
    expect(await look()).toHaveLength(n);
    await Promise.all([slow.release(), other.release()]);
  }
});

test('looks that ask the same at the same time share the statement', async () => {
  await put(1);
  const query = jest.spyOn(dataSource, 'query');
  expect(await Promise.all([look(), look()])).toEqual([[1], [1]]);
  expect(query).toHaveBeenCalledTimes(2);
  query.mockRestore();
});

test.each([[0], [1]])(
  'fails while PostgreSQL does not answer statement %i of a look, and looks again after that',
  async (failing) => {
    await put(1);
    const real = dataSource.query.bind(dataSource);
    let asked = 0;
    const query = jest.spyOn(dataSource, 'query').mockImplementation((...parts) => {
      asked += 1;
      return asked > failing ? Promise.reject(new Error('it is away')) : real(...parts);
    });
    await expect(look()).rejects.toThrow('it is away');
    query.mockRestore();
    expect(await look()).toEqual([1]);
  },
);
