import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { builtSchema, startServices, type Services } from '@tollgate/harness';
import { openRedis, redisReady, shardOf, type RedisConnection } from '@tollgate/keyspace';
import pg from 'pg';
import { auditBooks } from './audit-books.ts';
import { concludeBooks } from './finding.ts';

const ACCOUNT_ID = 7;
const SHARD = shardOf(ACCOUNT_ID, 2);
const BROKEN = `{${SHARD}}:sub:${ACCOUNT_ID}:1`;

let services: Services;
let redis: RedisConnection;

beforeAll(async () => {
  services = await startServices({ postgres: await builtSchema(), redis: 'single' });
  const database = new pg.Client({ connectionString: services.databaseUrl });
  await database.connect();
  await database.query(`
    SET session_replication_role = replica;
    INSERT INTO shard_epochs (shard, epoch) VALUES ('s00', 'a'), ('s01', 'b');
    INSERT INTO subscriptions (user_id, model_id) VALUES (${ACCOUNT_ID}, 1), (${ACCOUNT_ID}, 2)`);
  await database.end();
  redis = openRedis(services.redisUrl, { role: 'plain', name: 'test', onError: () => undefined });
  await redisReady(redis, 5_000);
  const record = { st: 'active', gen: 1, bal: 0, held: 0, conc: 0, cseq: 0, rev: 1 };
  await redis.hset(BROKEN, { ...record, id: 1 });
  await redis.hset(`{${SHARD}}:sub:${ACCOUNT_ID}:2`, { ...record, id: 2 });
}, 120_000);
afterAll(async () => {
  redis?.disconnect();
  await services?.stop();
});

const audit = () =>
  auditBooks({ databaseUrl: services.databaseUrl, redisUrl: services.redisUrl }, { drainMs: 0 });
const problemsOf = async (): Promise<string[]> =>
  (await audit()).flatMap(({ problems }) => problems);

test('a balance that is no number is a finding with its remedy, and keeps no other balance from being compared', async () => {
  expect(await problemsOf()).toEqual([]);
  await redis.hset(BROKEN, 'bal', 'nan');
  await redis.hset(`{${SHARD}}:sub:${ACCOUNT_ID}:2`, 'bal', 5);
  const unreadable = `subscription 1: the balance of account ${ACCOUNT_ID} for model 1 cannot be read. A control plane rewrites it within 5 minutes. Fix if it stays: npm run ops -- epochs refill ${SHARD}`;
  expect(await problemsOf()).toEqual([
    unreadable,
    'subscription 2: PostgreSQL 0 at credit 0; Redis 5 at credit 0, held 0 by 0 requests',
  ]);
  // The holds of such a record cannot be settled: nothing rests until they are gone.
  await redis.zadd(`{${SHARD}}:holds`, Date.now() + 60_000, 'held');
  expect(await problemsOf()).toEqual([unreadable, `holds of ${SHARD}: 1`]);
  expect(concludeBooks(await audit()).exitStatus).toBe(1);
});
