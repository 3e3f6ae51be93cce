import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createRoutedModel, until } from '@tollgate/harness';
import { openRedis, redisReady, shardOf } from '@tollgate/keyspace';
import pg from 'pg';
import { chat, customer, tollgate } from './security-under-test.ts';

const BOUGHT = 10_000;
const ATTACK_MS = 4_000;
const CALLERS = 20;
const BEYOND_MAX = 50_000;

/** Counts the spent tokens that PostgreSQL has booked for the model. */
async function spentOf(modelId: number): Promise<number> {
  const database = new pg.Client({ connectionString: tollgate.databaseUrl });
  await database.connect();
  const { rows } = await database.query(
    `SELECT coalesce(sum(u.delta), 0)::int AS spent FROM usage_events u JOIN subscriptions s ON s.id = u.subscription_id
     WHERE s.model_id = $1 AND u.kind <> 'withdraw'`,
    [modelId],
  );
  await database.end();
  return Number(rows[0]?.spent);
}

test(`S54: who raises a balance as a node's user of Redis spends at most ${BEYOND_MAX} tokens beyond what was bought`, async () => {
  const model = await createRoutedModel(tollgate, { protocols: ['openai'] });
  await customer.client.subscribe({ model_id: model.id, tokens: BOUGHT });
  await tollgate.admin.syncAll();
  const options = { role: 'plain', name: 'attacker', onError: () => undefined } as const;
  const redis = openRedis(tollgate.services.redisUrls.node, options);
  await redisReady(redis, 10_000);
  const shard = shardOf(customer.id, tollgate.shards);
  const record = `{${shard}}:sub:${customer.id}:${model.id}`;
  const endMs = performance.now() + ATTACK_MS;
  const raise = async (): Promise<void> => {
    while (performance.now() < endMs) {
      await redis.hset(record, 'bal', '50000000', 'held', '0', 'conc', '0');
      await delay(1);
    }
  };
  const call = async (): Promise<void> => {
    while (performance.now() < endMs) await chat('@demo tokens=1500', { named: model.name });
  };
  await Promise.all([raise(), ...Array.from({ length: CALLERS }, call)]);
  redis.disconnect();
  const spent = await until('all usage is booked', async () => {
    const before = await spentOf(model.id);
    await delay(1_500);
    return before > 0 && before === (await spentOf(model.id)) ? before : undefined;
  });
  expect(spent).toBeGreaterThan(BOUGHT / 2);
  expect(spent - BOUGHT).toBeLessThanOrEqual(BEYOND_MAX);
}, 60_000);
