import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import fc from 'fast-check';
import pg from 'pg';
import { arrayLiteral } from './array-literal.ts';

let services: Services;
let client: pg.Client;
beforeAll(async () => {
  services = await startServices({ redis: false });
  client = new pg.Client({ connectionString: services.databaseUrl });
  await client.connect();
}, 60_000);
afterAll(async () => {
  await client?.end();
  await services?.stop();
});

const texts = fc.array(
  fc.option(
    fc.oneof(
      fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
      fc.constantFrom(
        '',
        'null',
        'NULL',
        '{}',
        ',',
        '"',
        '\\',
        ' a',
        'a\nb',
        '2026-11-22T10:00:00.000Z',
      ),
    ),
  ),
);

test('PostgreSQL reads the texts that were written', async () => {
  await fc.assert(
    fc.asyncProperty(texts, async (cells) => {
      const { rows } = await client.query('SELECT $1::text[] AS read', [arrayLiteral(cells)]);
      expect(rows[0].read).toEqual(cells);
    }),
    { numRuns: 200 },
  );
});

test('numbers, booleans and nulls keep their values', async () => {
  const { rows } = await client.query('SELECT $1::bigint[]::text[] AS n, $2::boolean[] AS b', [
    arrayLiteral([-1, 0, 9_007_199_254_740_991, 5n, null]),
    arrayLiteral([true, null, false]),
  ]);
  expect(rows[0]).toEqual({
    n: ['-1', '0', '9007199254740991', '5', null],
    b: [true, null, false],
  });
});
