import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import { DataSource } from 'typeorm';
import { createApp } from '../../create-app.ts';
import { loadConfig } from '../../config.ts';
import { environmentFor } from '../../testing/control-plane-under-test.ts';
import { createPino } from '../logging/logger.ts';
import { dataSourceOptions } from './data-source-options.ts';
import { migrate } from './migrate.ts';
import { openDatabase } from './open-database.ts';

let services: Services;
beforeAll(async () => {
  services = await startServices();
}, 60_000);
afterAll(() => services?.stop());

const options = (url: string) => dataSourceOptions({ DATABASE_URL: url, DATABASE_POOL_MAX: 5 });
const stillWaits = async (work: Promise<unknown>): Promise<boolean> =>
  (await Promise.race([work.then(() => 'done'), delay(1_500, 'waits')])) === 'waits';

test('a control plane that starts before PostgreSQL, and before the migrations, starts once both are there', async () => {
  const { databaseUrls: urls, postgres, redisUrl } = services;
  await postgres.stop();
  const config = loadConfig(environmentFor({ databaseUrl: urls.runtime, redisUrl }));
  const starting = createApp(config, createPino('silent'));
  expect(await stillWaits(starting)).toBe(true);
  await postgres.start();
  expect(await stillWaits(starting)).toBe(true);
  const owner = await new DataSource(options(urls.owner)).initialize();
  await migrate(owner, { runtime: new URL(urls.runtime).username });
  await owner.destroy();
  const app = await starting;
  expect(await app.get(DataSource).query('SELECT count(*)::int AS n FROM models')).toEqual([
    { n: 0 },
  ]);
  await app.close();
}, 60_000);

test('a wrong password and a database that does not exist end the start at once', async () => {
  const { runtime } = services.databaseUrls;
  const [wrong, missing] = [new URL(runtime), new URL(runtime)];
  wrong.password = 'wrong';
  missing.pathname = '/missing';
  await expect(openDatabase(options(wrong.href))).rejects.toThrow('password authentication failed');
  await expect(openDatabase(options(missing.href))).rejects.toThrow('does not exist');
}, 60_000);

test('a role that may make tables migrates by itself, as where one role does everything', async () => {
  const { owner } = services.urlsOf(await services.createDatabase());
  const dataSource = await openDatabase(options(owner));
  expect(await dataSource.query('SELECT count(*)::int AS n FROM users')).toEqual([{ n: 0 }]);
  await dataSource.destroy();
}, 60_000);
