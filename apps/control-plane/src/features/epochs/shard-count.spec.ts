import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import type { RedisConnection } from '@tollgate/keyspace';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { EpochsService } from './epochs.service.ts';
import { ForeignRedis } from './foreign-redis.ts';
import { ShardCount } from './shard-count.sql.ts';

const MAIN = path.join(import.meta.dirname, '../../../dist/main.js');

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({ SHARDS: '4' });
  await plane.app.get(EpochsService, { strict: false }).ensureAll();
}, 60_000);
afterAll(() => plane?.stop());

const startsWith = (SHARDS: number): Promise<void> =>
  new ShardCount(plane.dataSource, { SHARDS }).onModuleInit();
const said = (shards: number, known: number) =>
  `SHARDS: is ${shards}, but this installation has ${known} shards; the number is fixed for its life. Set SHARDS=${known} and start again.`;
/** Leaves the installation as it is before its first start. */
const forget = () => plane.administrator.query('DELETE FROM shard_counts');
const stored = () => plane.administrator.query('SELECT shards FROM shard_counts');

/** Returns the output of a separate process that ends by itself. */
async function ended(overrides: Record<string, string>) {
  const env = { PATH: process.env.PATH, ...plane.environment, ...overrides };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const [errors, [status]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  return { errors, status: Number(status) };
}

describe('a control plane', () => {
  test('with a lower SHARDS than the installation ends with status 1 and says why', async () => {
    const { errors, status } = await ended({ SHARDS: '2' });
    expect(errors).toContain(`The control plane cannot start:\n${said(2, 4)}`);
    expect(status).toBe(1);
    expect(await plane.administrator.query('SELECT shard FROM shard_epochs')).toHaveLength(4);
  }, 30_000);

  test('with a higher one does not start either, before any usage', async () => {
    expect(await stored()).toEqual([{ shards: 4 }]);
    await expect(startsWith(8)).rejects.toThrow(said(8, 4));
    expect(await stored()).toEqual([{ shards: 4 }]);
  });

  test('of two that start first at once, with different ones, one does not start', async () => {
    await forget();
    const outcomes = await Promise.allSettled([startsWith(2), startsWith(4), startsWith(8)]);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await stored()).toHaveLength(1);
  });

  test('with its own starts, also after a first start that was interrupted', async () => {
    await forget();
    await startsWith(4);
    expect(await stored()).toEqual([{ shards: 4 }]);
    await plane.administrator.query("DELETE FROM shard_epochs WHERE shard <> 's00'");
    await startsWith(4);
  });

  test('of a new installation beside a Redis that another filled ends with status 1 and what to do, and changes nothing there', async () => {
    const redis = plane.app.get<RedisConnection>(REDIS);
    await plane.administrator.query('DELETE FROM shard_epochs');
    const epochs = () => redis.mget('{s00}:epoch');
    const before = await epochs();
    const { errors, status } = await ended({});
    expect(errors).toMatch(/REDIS_URL: the database is empty, but Redis is filled by another/);
    expect(errors).toContain('redis-cli FLUSHALL');
    expect(status).toBe(1);
    expect(await epochs()).toEqual(before);
    expect(await plane.administrator.query('SELECT shard FROM shard_epochs')).toEqual([]);
    await redis.flushall();
    await plane.app.get(ForeignRedis, { strict: false }).onModuleInit();
  }, 30_000);
});
