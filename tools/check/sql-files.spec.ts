import { expect, test } from '@jest/globals';
import { isProduct, read, sources } from './tracked-files.ts';

const ROOT = 'apps/control-plane/src/features/';
const RUNS_SQL = /\.query(?:<[^(]*>)?\(/;
const USES_REPOSITORY = /\b(?:getRepository|createQueryBuilder|InjectRepository|Repository<)/;

/** Returns what decision 31 forbids: SQL beside a repository, and SQL in a file whose name does not say so. */
function faultsIn(file: string, text: string): string[] {
  if (!RUNS_SQL.test(text)) return [];
  return [
    ...(USES_REPOSITORY.test(text) ? [`${file} uses SQL and a repository`] : []),
    ...(/\.(?:sql|service)\.ts$/.test(file) ? [] : [`${file} runs SQL`]),
  ];
}

test('features run SQL in *.sql.ts and query services alone, without a repository', () => {
  const files = sources.filter((file) => file.startsWith(ROOT) && isProduct(file));
  expect(files.flatMap((file) => faultsIn(file, read(file)))).toEqual([]);
  expect(files.filter((file) => RUNS_SQL.test(read(file))).length).toBeGreaterThan(40);
});

test('a planted mixture and planted SQL in a loop are found', () => {
  const sql = "const rows = await tx.query('SELECT 1');";
  const typed = "await this.transactions.query<Row>('SELECT 1');";
  expect(faultsIn('a/a.service.ts', `${sql}\ntx.getRepository(Row)`)).toEqual([
    'a/a.service.ts uses SQL and a repository',
  ]);
  expect(faultsIn('a/a-watch.ts', typed)).toEqual(['a/a-watch.ts runs SQL']);
  expect(faultsIn('a/a.sql.ts', sql)).toEqual([]);
  expect(faultsIn('a/a.service.ts', 'this.rows.createQueryBuilder()')).toEqual([]);
});
