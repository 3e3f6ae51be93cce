/**
 * Breaks connections to PostgreSQL at every point of a checkout, in a process of its own: an unhandled error ends it.
 * `node reset-during-checkout.ts DATABASE_URL`; says `survived` and how many connections it broke.
 */
import { DataSource } from 'typeorm';
import type pg from 'pg';
import { dataSourceOptions } from '../platform/database/data-source-options.ts';

const POINTS = ['connect', 'acquire', 'release'] as const;
const TIMES = 10;

const [url = ''] = process.argv.slice(2);
const options = dataSourceOptions({ DATABASE_URL: url, DATABASE_POOL_MAX: 3 });
const dataSource = await new DataSource(options).initialize();
const { master: pool } = dataSource.driver as unknown as { master: pg.Pool };
let broken = 0;

function breakNow(client: pg.PoolClient): void {
  const { connection } = client as unknown as {
    connection: { stream: { destroy: (error: Error) => void } };
  };
  broken += 1;
  connection.stream.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
}

const DELAYS = [
  (act: () => void) => act(),
  (act: () => void) => process.nextTick(act),
  (act: () => void) => queueMicrotask(act),
  (act: () => void) => setImmediate(act),
];
for (const point of POINTS) {
  for (const later of DELAYS) {
    const onPoint = (first: unknown, second: unknown): void => {
      const client = (point === 'release' ? second : first) as pg.PoolClient;
      later(() => breakNow(client));
    };
    pool.on(point as 'connect', onPoint as never);
    for (let time = 0; time < TIMES; time += 1)
      await Promise.allSettled([
        dataSource.query('SELECT 1'),
        dataSource.transaction((tx) => tx.query('SELECT 2')),
      ]);
    pool.off(point, onPoint as never);
  }
}
// The last ones may have been broken while they were idle: a query finds each of them out.
await Promise.allSettled([1, 2, 3].map(() => dataSource.query('SELECT 1')));
const [row] = await dataSource.query('SELECT 3 AS answer');
process.stdout.write(`survived ${broken}, answered ${row.answer}\n`);
process.exit(0);
