import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually, resolveRedis, startServices, tearOlderFile } from '@tollgate/harness';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { ledgerOf, subscribedAccount } from '../../testing/ledger-under-test.ts';

const START = path.join(import.meta.dirname, '../../../../../deploy/redis/start.sh');

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({}, { redis: 'single' });
}, 60_000);
afterAll(() => plane?.stop());

test('a Redis whose older append-only file is torn starts without its files, with an alert, and is filled again from the books', async () => {
  const { folder, redis } = plane.services;
  const { account, model } = await subscribedAccount(plane, 1_000);
  const ledger = ledgerOf(plane);
  const balance = async () => (await ledger.live(account, model))?.balance;
  await eventually(async () => expect(await balance()).toBe(1_000));
  await redis.stop();
  const data = path.join(folder, 'redis');
  tearOlderFile(data);
  const torn = readdirSync(path.join(data, 'appendonlydir'));
  await redis.start();
  expect(readdirSync(path.join(data, 'appendonlydir.set-aside'))).toEqual(torn);
  await eventually(async () => expect(await balance()).toBe(1_000), 20_000);
  const alerts = () =>
    ledger.query(
      "SELECT DISTINCT detail ->> 'kind' AS kind, resolved_at IS NULL AS open FROM alerts WHERE rule = 'redis_data_lost'",
    );
  await eventually(async () => expect(await alerts()).toEqual([{ kind: 'lost', open: false }]));
}, 90_000);

test('the container starts in the same way, and sets aside nothing else', async () => {
  const services = await startServices({ postgres: false, redis: 'single' });
  try {
    await services.redis.stop();
    const data = path.join(services.folder, 'container');
    const programs = path.join(services.folder, 'programs');
    mkdirSync(programs);
    const { server, checkerName, env } = await resolveRedis();
    // The server is the checker when it is called by the checker's name.
    writeFileSync(
      path.join(programs, 'redis-check-aof'),
      `#!/bin/bash\nexec -a ${checkerName} ${server} "$@"\n`,
      { mode: 0o755 },
    );
    writeFileSync(path.join(programs, 'redis-server'), '#!/bin/sh\ncat >/dev/null\n', {
      mode: 0o755,
    });
    const start = async (): Promise<unknown> => {
      const passwords = ['', '_CONTROL_PLANE', '_NODE', '_QUEUE'].map(
        (of) => [`REDIS${of}_PASSWORD`, 'secret'] as const,
      );
      const child = spawn('sh', [START], {
        stdio: 'ignore',
        env: {
          ...process.env,
          ...env,
          ...Object.fromEntries(passwords),
          PATH: `${programs}:${process.env.PATH}`,
          DATA_FOLDER: data,
          USERS_FILE: path.join(path.dirname(START), 'users.acl'),
        },
      });
      return (await once(child, 'exit'))[0];
    };
    cpSync(path.join(services.folder, 'redis'), data, { recursive: true });
    const isSetAside = () => existsSync(path.join(data, 'appendonlydir.set-aside'));
    expect([await start(), isSetAside()]).toEqual([0, false]);
    tearOlderFile(data);
    expect([await start(), isSetAside()]).toEqual([0, true]);
    expect(existsSync(path.join(data, 'appendonlydir'))).toBe(false);
    // A checker that cannot run says nothing about the files.
    cpSync(path.join(services.folder, 'redis', 'appendonlydir'), path.join(data, 'appendonlydir'), {
      recursive: true,
    });
    writeFileSync(path.join(programs, 'redis-check-aof'), '#!/bin/sh\nexit 127\n');
    expect(await start()).toBe(127);
    expect(existsSync(path.join(data, 'appendonlydir'))).toBe(true);
  } finally {
    await services.stop();
  }
}, 60_000);
