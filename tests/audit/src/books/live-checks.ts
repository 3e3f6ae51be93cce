import {
  BULL_PREFIX,
  shardNames,
  shardOf,
  UnreadableBalance,
  type LiveRecords,
  type RedisConnection,
  type SubscriptionBalance,
} from '@tollgate/keyspace';
import type pg from 'pg';
import { z } from 'zod';
import type { Finding } from './finding.ts';
import { readCount } from './read-rows.ts';

/** Subscriptions read at a time. */
const PAGE = 1_000;
const subscriptionRow = z.object({
  id: z.number(),
  user_id: z.number(),
  model_id: z.number(),
  live: z.coerce.number(),
  credit_seq: z.coerce.number(),
});

export interface Books {
  database: pg.Client;
  redis: RedisConnection;
  live: LiveRecords;
  shards: number;
}

type Subscription = z.output<typeof subscriptionRow>;

interface LiveBalance {
  row: Subscription;
  /** Is null where Redis has none. */
  found: SubscriptionBalance | UnreadableBalance | null;
}

async function readLiveBalances({ database, live }: Books): Promise<LiveBalance[]> {
  const { rows } = await database.query(
    'SELECT id, user_id, model_id, balance - overdraft AS live, credit_seq FROM subscriptions ORDER BY id',
  );
  const subscriptions = z.array(subscriptionRow).parse(rows);
  const balances: LiveBalance[] = [];
  for (let from = 0; from < subscriptions.length; from += PAGE) {
    const page = subscriptions.slice(from, from + PAGE);
    balances.push(
      ...(await Promise.all(page.map(async (row) => ({ row, found: await readOne(live, row) })))),
    );
  }
  return balances;
}

async function readOne(
  live: LiveRecords,
  { user_id, model_id }: Subscription,
): Promise<LiveBalance['found']> {
  try {
    const [found] = await live.getBalances([{ accountId: user_id, modelId: model_id }]);
    return found ?? null;
  } catch (error) {
    if (error instanceof UnreadableBalance) return error;
    throw error;
  }
}

/** It can be asked also while requests run: no function of Tollgate writes what cannot be read, and the holds of such a record keep the installation from rest. */
export async function findUnreadable(books: Books): Promise<Finding> {
  const balances = await readLiveBalances(books);
  return {
    name: 'live records',
    promise: 'every balance in Redis can be read',
    compared: balances.length,
    problems: balances.flatMap(({ row, found }) =>
      found instanceof UnreadableBalance
        ? [
            `subscription ${row.id}: ${found.message}. A control plane rewrites it within 5 minutes. Fix if it stays: npm run ops -- epochs refill ${shardOf(row.user_id, books.shards)}`,
          ]
        : [],
    ),
  };
}

/** Compares PostgreSQL's balance less overdraft with Redis' balance: they are equal for every subscription once nothing is on its way. Those that cannot be read are a finding of their own. */
export async function compareLiveBalances(books: Books): Promise<Finding> {
  const balances = await readLiveBalances(books);
  const problems = balances.flatMap(({ row, found }) => {
    if (found instanceof UnreadableBalance) return [];
    if (!found)
      return [`subscription ${row.id}: Redis knows nothing of it, PostgreSQL has ${row.live}`];
    const isEqual =
      found.balance === row.live &&
      found.creditSeq === row.credit_seq &&
      found.held === 0 &&
      found.running === 0;
    return isEqual
      ? []
      : [
          `subscription ${row.id}: PostgreSQL ${row.live} at credit ${row.credit_seq}; Redis ${found.balance} at credit ${found.creditSeq}, held ${found.held} by ${found.running} requests`,
        ];
  });
  return {
    name: 'live balances',
    promise: 'PostgreSQL - overdraft == Redis, nothing held',
    compared: balances.length,
    problems,
  };
}

/** Returns a line for each of outboxes, holds, the usage queue and changes for Redis that is not empty: all are empty when everything has arrived. */
export async function findUnarrived({ database, redis, shards }: Books): Promise<string[]> {
  const places = [
    ...shardNames(shards).flatMap((shard) => [
      { what: `outbox of ${shard}`, count: () => redis.xlen(`{${shard}}:outbox`) },
      { what: `holds of ${shard}`, count: () => redis.zcard(`{${shard}}:holds`) },
    ]),
    ...['wait', 'active'].map((list) => ({
      what: `usage jobs ${list}`,
      count: () => redis.llen(`${BULL_PREFIX}:usage:${list}`),
    })),
    ...['delayed', 'prioritized'].map((set) => ({
      what: `usage jobs ${set}`,
      count: () => redis.zcard(`${BULL_PREFIX}:usage:${set}`),
    })),
    {
      what: 'changes for Redis',
      count: () => readCount(database, 'SELECT count(*) FROM live_state_outbox'),
    },
  ];
  const counts = await Promise.all(places.map(({ count }) => count()));
  return places.flatMap(({ what }, index) =>
    (counts[index] ?? 0) > 0 ? [`${what}: ${counts[index]}`] : [],
  );
}

/** A failed job is not tried again by itself. */
export async function findFailedJobs({ redis }: Books): Promise<Finding> {
  const failed = await redis.zcard(`${BULL_PREFIX}:usage:failed`);
  return {
    name: 'failed jobs',
    promise: 'no usage job has failed for good',
    compared: 1,
    problems: failed > 0 ? [`usage jobs failed: ${failed}`] : [],
  };
}
