import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import pg from 'pg';
import { startServices, type Services } from './services.ts';

let services: Services;

beforeAll(async () => {
  services = await startServices();
});
afterAll(() => services.stop());

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

test('gives each suite an empty PostgreSQL database and further ones on demand', async () => {
  const second = await services.createDatabase();
  await query(second, 'CREATE TABLE only_here (id int)');
  expect(await query(services.databaseUrl, "SELECT to_regclass('only_here') AS found")).toEqual([
    { found: null },
  ]);
  expect(await query(second, "SELECT to_regclass('only_here') AS found")).toEqual([
    { found: 'only_here' },
  ]);
});

test('keeps the data of a PostgreSQL and a Redis that were killed and started again', async () => {
  await query(services.databaseUrl, 'CREATE TABLE kept (id int)');
  await services.postgres.kill('SIGKILL');
  await services.redis.kill('SIGKILL');
  await services.redis.start();
  await services.postgres.start();
  expect(await query(services.databaseUrl, 'SELECT count(*)::int AS n FROM kept')).toEqual([
    { n: 0 },
  ]);
});

test('leaves neither process nor file behind', async () => {
  const other = await startServices();
  const pids = [other.postgres, ...other.redisServers].map(({ pid }) => pid);
  await other.stop();
  expect(existsSync(other.folder)).toBe(false);
  for (const pid of pids) expect(() => process.kill(pid as number, 0)).toThrow('ESRCH');
});
