import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findFreePort } from '../process/free-port.ts';
import { resolveRedis } from './resolve-redis.ts';
import { embeddedRedis } from './redis.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'tollgate-redis-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('cuts an append-only file torn inside a script before it starts', async () => {
  const dataFolder = path.join(folder, 'data');
  const redis = embeddedRedis({
    dataFolder,
    port: await findFreePort(),
    password: 'secret',
    binary: await resolveRedis(),
    folders: { run: path.join(folder, 'run'), logs: path.join(folder, 'logs') },
  });
  await redis.start();
  await redis.stop();
  const aofFolder = path.join(dataFolder, 'appendonlydir');
  const file = path.join(
    aofFolder,
    readdirSync(aofFolder).find((name) => name.endsWith('.incr.aof')) as string,
  );
  const whole = readFileSync(file, 'latin1');
  const tail = [
    '*1',
    '$5',
    'MULTI',
    '*3',
    '$3',
    'SET',
    '$1',
    'a',
    '$1',
    '1',
    '*3',
    '$3',
    'SE',
  ].join('\r\n');
  appendFileSync(file, `*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n${tail}`);
  await redis.start();
  expect(readFileSync(file, 'latin1')).not.toContain('MULTI');
  expect(readFileSync(file, 'latin1').startsWith(whole)).toBe(true);
  await redis.stop();
});
