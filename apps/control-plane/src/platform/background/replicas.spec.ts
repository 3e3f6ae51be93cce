import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { USAGE_QUEUE, type UsageJob } from '@tollgate/contracts';
import { BULL_PREFIX, openRedis } from '@tollgate/keyspace';
import { eventually } from '@tollgate/harness';
import { Queue } from 'bullmq';
import { ADVISORY_LOCKS } from '../database/advisory-locks.ts';
import { loadConfig } from '../../config.ts';
import { createApp } from '../../create-app.ts';
import { AlertsService } from '../../features/alerts/alerts.service.ts';
import { BalanceWatch } from '../../features/subscriptions/balance-watch.ts';
import { TrustWatch } from '../../features/upstreams/trust-watch.ts';
import { UpstreamWatch } from '../../features/upstreams/upstream-watch.ts';
import { Reconciler } from '../../features/reconciliation/reconciler.service.ts';
import { UsageWorker } from '../../features/usage/ingest/usage-worker.ts';
import {
  ledgerOf,
  usageEvent,
  type EventParts,
  subscribedAccount,
} from '../../testing/ledger-under-test.ts';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { keysOf } from '../../testing/drift-under-test.ts';
import { createPino } from '../logging/logger.ts';
import { REDIS } from '../redis/redis.module.ts';

let plane: ControlPlane;
let replica: NestExpressApplication;
let ledger: ReturnType<typeof ledgerOf>;
beforeAll(async () => {
  plane = await startControlPlane();
  ledger = ledgerOf(plane);
  await ledger.initialiseShards();
  replica = await createApp(loadConfig(plane.environment), createPino('silent'));
  await replica.init();
}, 120_000);
afterAll(async () => {
  await replica?.close();
  await plane?.stop();
});

const subscribed = (tokens: number): Promise<EventParts> => subscribedAccount(plane, tokens);

interface SingletonJob {
  /** Is the key of its advisory lock. */
  lock: number;
  run: (app: NestExpressApplication) => Promise<unknown>;
  /** A foreign lock on this table keeps a round from ending. */
  table: string;
  /** Gives it something to do; answers whether that is done. */
  prepare: () => Promise<() => Promise<boolean>>;
}

const isOpen = async (subject: string): Promise<boolean> =>
  (await ledger.query('SELECT 1 FROM alerts WHERE subject = $1 AND resolved_at IS NULL', [subject]))
    .length > 0;

const JOBS: Record<string, SingletonJob> = {
  'balance-watch.ts': {
    lock: ADVISORY_LOCKS.balanceWatch,
    run: (app) => app.get(BalanceWatch, { strict: false }).look(),
    table: 'token_lots',
    prepare: async () => {
      const parts = await subscribed(100);
      await plane.app.get(UsageWorker).process([usageEvent(95, parts)]);
      return () => isOpen(`subscription:${parts.subscriptionId}`);
    },
  },
  'upstream-watch.ts': {
    lock: ADVISORY_LOCKS.upstreamWatch,
    run: (app) => app.get(UpstreamWatch, { strict: false }).look(),
    table: 'alert_deliveries',
    prepare: async () => {
      await plane.app.get(AlertsService, { strict: false }).raise(plane.dataSource.manager, {
        rule: 'upstream_failing',
        subject: 'upstream:999',
        message: 'of before',
      });
      return async () => !(await isOpen('upstream:999'));
    },
  },
  'trust-watch.ts': {
    lock: ADVISORY_LOCKS.trustWatch,
    run: (app) => app.get(TrustWatch, { strict: false }).look(),
    table: 'alert_deliveries',
    prepare: async () => {
      await plane.app.get(AlertsService, { strict: false }).raise(plane.dataSource.manager, {
        rule: 'upstream_overruns',
        subject: 'upstream:998',
        message: 'of before',
      });
      return async () => !(await isOpen('upstream:998'));
    },
  },
  'reconciler.service.ts': {
    lock: ADVISORY_LOCKS.reconciliation,
    run: (app) => app.get(Reconciler, { strict: false }).runAlone({ pauseMs: 10 }),
    table: 'subscriptions',
    prepare: async () => {
      const { account, model } = await subscribed(100);
      await plane.app.get(REDIS).hincrby(keysOf(plane, account.id, model.id), 'bal', 5);
      return async () => (await ledger.live(account, model))?.balance === 100;
    },
  },
};

const holdersOf = (lock: number): Promise<{ pid: number }[]> =>
  ledger.query(
    "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND objsubid = 1 AND granted",
    [lock],
  );

describe('a job for one replica at a time', () => {
  test.each(Object.entries(JOBS))(
    '%s runs on one, and goes on on the other when that one is killed',
    async (_file, job) => {
      const isDone = await job.prepare();
      const obstacle = plane.dataSource.createQueryRunner();
      await obstacle.startTransaction();
      await obstacle.query(`LOCK TABLE ${job.table} IN ACCESS EXCLUSIVE MODE`);
      const killed = Promise.allSettled([job.run(replica)]);
      await eventually(async () => expect(await holdersOf(job.lock)).toHaveLength(1));
      // The other one looks, sees that it is being done, and leaves: it would wait at the table too.
      await job.run(plane.app);
      const [holder] = await holdersOf(job.lock);
      expect(await isDone()).toBe(false);
      // This ends the process as `kill -9` does: PostgreSQL sees its connection go, and gives the lock back.
      await ledger.query('SELECT pg_terminate_backend($1)', [holder?.pid]);
      await eventually(async () => expect(await holdersOf(job.lock)).not.toContainEqual(holder));
      await obstacle.rollbackTransaction();
      await obstacle.release();
      await killed;
      await eventually(async () => {
        await job.run(plane.app);
        expect(await isDone()).toBe(true);
      });
    },
    60_000,
  );

  test('is one of these, or tested where it belongs', () => {
    const root = path.join(import.meta.dirname, '../..');
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
      (file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'),
    );
    const singletons = files
      .filter((file) =>
        /pg_try_advisory|ifUnlocked\(|tryLock\(/.test(readFileSync(path.join(root, file), 'utf8')),
      )
      .map((file) => path.basename(file))
      .filter((name) => name !== 'advisory-hold.ts');
    // A shard is filled by one replica (snapshots.spec.ts), an idempotency key is used by one request (wallet.spec.ts), shards are refilled by one command (refill.spec.ts).
    expect(singletons.toSorted()).toEqual(
      [...Object.keys(JOBS), 'epochs.service.ts', 'idempotency.ts', 'refill.ts'].toSorted(),
    );
  });
});

test('the jobs of the queue are shared by both replicas, and all done by one when the other has stopped', async () => {
  const parts = await subscribed(10_000);
  const connection = openRedis(plane.services.redisUrl, {
    role: 'queue_worker',
    name: 'spec',
    onError: () => undefined,
  });
  const queue = new Queue<UsageJob>(USAGE_QUEUE, { connection, prefix: BULL_PREFIX });
  const add = (count: number) =>
    queue.addBulk(
      Array.from({ length: count }, () => ({
        name: 'usage',
        data: { events: [usageEvent(1, parts)], refusedForFunds: [] },
      })),
    );
  const booked = async () =>
    10_000 - Number((await ledger.subscription(parts.account, parts.model)).balance);
  try {
    const obstacle = plane.dataSource.createQueryRunner();
    await obstacle.startTransaction();
    await obstacle.query('SELECT 1 FROM subscriptions WHERE id = $1 FOR UPDATE', [
      parts.subscriptionId,
    ]);
    await add(60);
    // One worker takes twenty at a time: with none of them done, the next ones are the other's.
    await eventually(async () => expect(await queue.getActiveCount()).toBe(40));
    await obstacle.rollbackTransaction();
    await obstacle.release();
    await eventually(async () => expect(await booked()).toBe(60));
    await replica.close();
    await add(10);
    await eventually(async () => expect(await booked()).toBe(70));
    // A job ends a moment after its transaction.
    await eventually(async () =>
      expect(await queue.getJobCounts('wait', 'active', 'failed', 'delayed')).toEqual({
        wait: 0,
        active: 0,
        failed: 0,
        delayed: 0,
      }),
    );
  } finally {
    await queue.close();
    connection.disconnect();
  }
}, 60_000);
