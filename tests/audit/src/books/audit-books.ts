import { setTimeout as delay } from 'node:timers/promises';
import {
  EpochCache,
  Epochs,
  FunctionLibrary,
  LiveRecords,
  openRedis,
  redisReady,
} from '@tollgate/keyspace';
import pg from 'pg';
import { z } from 'zod';
import { BOOK_CHECKS } from './book-checks.ts';
import { CLOSING_CHECKS } from './closing-checks.ts';
import type { Finding } from './finding.ts';
import { compareLiveBalances, findUnarrived, type Books } from './live-checks.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const DRAIN_POLL_MS = 100;

export interface Backends {
  databaseUrl: string;
  redisUrl: string;
}

/**
 * Every promise the books make, checked against PostgreSQL and Redis themselves. Waits up to `drainMs` for what is on its way;
 * an installation that never rests for a moment cannot be compared with itself and is reported as such.
 */
export async function auditBooks(
  { databaseUrl, redisUrl }: Backends,
  { drainMs }: { drainMs: number },
): Promise<Finding[]> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  const redis = openRedis(redisUrl, { role: 'plain', name: 'audit', onError: () => undefined });
  try {
    await redisReady(redis, CONNECT_TIMEOUT_MS);
    const shards = await readCount(database, 'SELECT count(*) FROM shard_epochs');
    const live = new LiveRecords({
      redis,
      library: new FunctionLibrary(redis),
      epochs: new EpochCache(new Epochs(redis)),
      shards,
    });
    const books: Books = { database, redis, live, shards };
    const unarrived = await waitUntilDrained(books, Date.now() + drainMs);
    const findings: Finding[] = [];
    for (const { name, promise, compared, problems } of [...BOOK_CHECKS, ...CLOSING_CHECKS]) {
      findings.push({
        name,
        promise,
        compared: await readCount(database, compared),
        problems: await readProblems(database, problems),
      });
    }
    return [...findings, await compareLiveBalances(books), unarrived];
  } finally {
    redis.disconnect();
    await database.end();
  }
}

/** Drained means: nothing is on its way, and both sides agree. The queue is empty a moment before its last transaction has committed. */
async function waitUntilDrained(books: Books, deadline: number): Promise<Finding> {
  for (;;) {
    const unarrived = await findUnarrived(books);
    const promised = await readCount(books.database, 'SELECT count(*) FROM live_state_outbox');
    const isDrained =
      unarrived.problems.length === 0 &&
      promised === 0 &&
      (await compareLiveBalances(books)).problems.length === 0;
    if (isDrained || Date.now() > deadline) return unarrived;
    await delay(DRAIN_POLL_MS);
  }
}

async function readCount(database: pg.Client, text: string): Promise<number> {
  const { rows } = await database.query(text);
  return z.tuple([z.object({ count: z.coerce.number() })]).parse(rows)[0].count;
}

async function readProblems(database: pg.Client, text: string): Promise<string[]> {
  const { rows } = await database.query(text);
  return z
    .array(z.object({ problem: z.string() }))
    .parse(rows)
    .map(({ problem }) => problem);
}
