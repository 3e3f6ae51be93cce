import { setTimeout as delay } from 'node:timers/promises';
import {
  EpochCache,
  Epochs,
  FunctionLibrary,
  knownSubscriptions,
  lastEvents,
  LiveRecords,
  shardNames,
  unfinishedJobs,
  waitingUsage,
  FleetStore,
  type RedisConnection,
  type SubscriptionBalance,
} from '@tollgate/keyspace';
import type { DataSource } from 'typeorm';
import { z } from 'zod';

const PAGE = 1_000;
const REPORT_AGE_MS = 5_000;
const POLL_MS = 500;

const count = z.coerce.number();
const subscriptionRow = z.object({
  id: z.number(),
  user_id: z.number(),
  model_id: z.number(),
  tokens: count,
  credits: count,
});

/** Describes one subscription whose balances differ. */
export interface Difference {
  /** Is null where the books have no such subscription. */
  subscription_id: number | null;
  user_id: number;
  model_id: number;
  /** Is the books' balance less overdraft; null without a row. */
  book_tokens: number | null;
  /** Is null where Redis has nothing of it. */
  redis_tokens: number | null;
  /** Counts the purchases that Redis has applied and the books do not know. */
  lost_credits: number;
}

/** Returns the shards of an installation that has run once. */
export async function readShards(dataSource: DataSource): Promise<string[]> {
  const [row]: { count: string }[] = await dataSource.query('SELECT count(*) FROM shard_epochs');
  return shardNames(Number(row?.count ?? 0));
}

/** Says in words what is still on its way to PostgreSQL; empty when both sides can be compared. */
async function onTheWay(
  dataSource: DataSource,
  redis: RedisConnection,
  {
    shards,
    countsPromises = true,
  }: { shards: readonly string[]; countsPromises?: boolean | undefined },
): Promise<string[]> {
  const { events, holds } = await waitingUsage(redis, shards.length);
  const jobs = await unfinishedJobs(redis, 'usage');
  const [row]: { count: string }[] = await dataSource.query(
    'SELECT count(*) FROM live_state_outbox',
  );
  const fleet = new FleetStore({ redis, library: new FunctionLibrary(redis) });
  const reports = await fleet.listReports({ nowMs: Date.now(), ageMaxMs: REPORT_AGE_MS });
  const sum = (of: (report: (typeof reports)[number]) => number): number =>
    reports.reduce((total, report) => total + of(report), 0);
  return Object.entries({
    'events in outboxes': events,
    'requests that hold tokens': holds,
    'jobs of usage': jobs,
    'changes for Redis': countsPromises ? Number(row?.count ?? 0) : 0,
    'requests that run': sum(({ in_flight }) => in_flight),
    'finals in journals': sum(({ unacknowledged }) => unacknowledged),
  }).flatMap(([what, size]) => (size > 0 ? [`${size} ${what}`] : []));
}

interface Wait {
  waitMs: number;
  onWait: (what: string) => void;
  /** Is false where no process carries out what is promised to Redis. */
  countsPromises?: boolean;
}

/** Waits until nothing is on its way; answers what still was when the time ran out. */
async function untilQuiet(
  dataSource: DataSource,
  redis: RedisConnection,
  { waitMs, onWait, countsPromises }: Wait,
): Promise<string[]> {
  const shards = await readShards(dataSource);
  let quietSince: number | undefined;
  for (const deadline = Date.now() + waitMs; ; await delay(POLL_MS)) {
    const waiting = await onTheWay(dataSource, redis, { shards, countsPromises });
    if (waiting.length > 0) quietSince = undefined;
    // A report is as old as its period: what a node has not reported yet is in the next one.
    else if (Date.now() - (quietSince ??= Date.now()) >= REPORT_AGE_MS / 2) return [];
    if (Date.now() > deadline) return waiting.length > 0 ? waiting : ['nothing for a moment only'];
    if (waiting.length > 0) onWait(waiting.join(', '));
  }
}

/**
 * Returns every subscription of the books whose balance or number of credits differs. Differences count when nothing was on its way before and after they were
 * read and nothing ended in between; until then they are read again. Returns what was on its way when there was no such moment in time.
 */
export async function compareAtRest(
  dataSource: DataSource,
  redis: RedisConnection,
  { waitMs, ...wait }: Wait,
): Promise<{ differences: Difference[] } | { waiting: string[] }> {
  const shards = await readShards(dataSource);
  for (const deadline = Date.now() + waitMs; ;) {
    const leftMs = Math.max(0, deadline - Date.now());
    const waiting = await untilQuiet(dataSource, redis, { ...wait, waitMs: leftMs });
    if (waiting.length > 0) return { waiting };
    const before = await lastEvents(redis, shards.length);
    const differences = await compareBooks(dataSource, redis);
    const after = await lastEvents(redis, shards.length);
    const isAtRest =
      before.join() === after.join() &&
      (await onTheWay(dataSource, redis, { ...wait, shards })).length === 0;
    if (differences.length === 0 || isAtRest) return { differences };
  }
}

async function compareBooks(dataSource: DataSource, redis: RedisConnection): Promise<Difference[]> {
  const live = liveRecords(redis, (await readShards(dataSource)).length);
  const differences: Difference[] = [];
  for (let afterId = 0; ;) {
    const rows: unknown[] = await dataSource.query(
      'SELECT id, user_id, model_id, balance - overdraft AS tokens, credit_seq AS credits FROM subscriptions WHERE id > $1 ORDER BY id LIMIT $2',
      [afterId, PAGE],
    );
    const page = rows.map((row) => subscriptionRow.parse(row));
    const found = await live.getBalances(
      page.map((row) => ({ accountId: row.user_id, modelId: row.model_id })),
    );
    differences.push(...page.flatMap((row, index) => differenceOf(row, found[index] ?? null)));
    afterId = page.at(-1)?.id ?? afterId;
    if (page.length < PAGE) return differences;
  }
}

/** Returns the subscriptions that Redis has and the books lack. Its user must be allowed to SCAN. */
export async function unknownToBooks(
  dataSource: DataSource,
  redis: RedisConnection,
): Promise<Difference[]> {
  const shards = await readShards(dataSource);
  const rows: { user_id: number; model_id: number }[] = await dataSource.query(
    'SELECT user_id, model_id FROM subscriptions',
  );
  const inBooks = new Set(rows.map((row) => `${row.user_id}:${row.model_id}`));
  const unknown: Difference[] = [];
  for (const shard of shards) {
    const refs = (await knownSubscriptions(redis, shard)).filter(
      ({ accountId, modelId }) => !inBooks.has(`${accountId}:${modelId}`),
    );
    for (const books of await liveRecords(redis, shards.length).getBalances(refs))
      if (books) unknown.push(onlyLive(books));
  }
  return unknown;
}

function liveRecords(redis: RedisConnection, shards: number): LiveRecords {
  return new LiveRecords({
    redis,
    library: new FunctionLibrary(redis),
    epochs: new EpochCache(new Epochs(redis)),
    shards,
  });
}

function differenceOf(
  { id, user_id, model_id, tokens, credits }: z.output<typeof subscriptionRow>,
  live: SubscriptionBalance | null,
): Difference[] {
  if (live?.balance === tokens && live.creditSeq === credits) return [];
  return [
    {
      subscription_id: id,
      user_id,
      model_id,
      book_tokens: tokens,
      redis_tokens: live?.balance ?? null,
      lost_credits: Math.max(0, (live?.creditSeq ?? credits) - credits),
    },
  ];
}

function onlyLive({ accountId, modelId, balance, creditSeq }: SubscriptionBalance): Difference {
  return {
    subscription_id: null,
    user_id: accountId,
    model_id: modelId,
    book_tokens: null,
    redis_tokens: balance,
    lost_credits: creditSeq,
  };
}
