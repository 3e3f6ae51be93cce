import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';

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
