import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from './data-source-options.ts';

let services: Services;
beforeAll(async () => {
  services = await startServices({ redis: false });
}, 60_000);
afterAll(() => services?.stop());

test('a connection that breaks at any point of a checkout does not end the process', () => {
  const script = path.join(import.meta.dirname, '../../testing/reset-during-checkout.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, services.databaseUrl], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
  const broken = Number(/survived (\d+), answered 3/.exec(stdout)?.[1]);
  expect(broken).toBeGreaterThanOrEqual(100);
}, 90_000);

/** Returns Linux' timers of the connections to this port: `02` probes an idle one. https://docs.kernel.org/networking/proc_net_tcp.html */
function timersOf(port: number): string[] {
  const remote = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[2]?.endsWith(remote) && fields[3] === '01')
    .map((fields) => fields[5]?.slice(0, 2) ?? '');
}

(process.platform === 'linux' ? test : test.skip)(
  'a connection that waits for PostgreSQL is probed, so that a machine that vanished is noticed',
  async () => {
    const config = { DATABASE_URL: services.databaseUrl, DATABASE_POOL_MAX: 1 };
    const dataSource = await new DataSource({
      ...dataSourceOptions(config),
      migrations: [],
    }).initialize();
    try {
      await dataSource.query('SELECT 1');
      expect(timersOf(Number(new URL(services.databaseUrl).port))).toEqual(['02']);
    } finally {
      await dataSource.destroy();
    }
  },
);
