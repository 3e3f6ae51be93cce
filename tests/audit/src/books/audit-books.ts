import {
  EpochCache,
  Epochs,
  FunctionLibrary,
  LiveRecords,
  openRedis,
  redisReady,
} from '@tollgate/keyspace';
import pg from 'pg';
import { BOOK_CHECKS, type BookCheck } from './book-checks.ts';
import { CHECKS_AT_REST, CLOSING_CHECKS } from './closing-checks.ts';
import type { Finding } from './finding.ts';
import { compareLiveBudgets } from './live-budgets.ts';
import { compareLiveBalances, findFailedJobs, findUnreadable, type Books } from './live-checks.ts';
import { judgeAtRest, type Patience } from './moment-of-rest.ts';
import { readCount, readProblems } from './read-rows.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const CHECKS = [...BOOK_CHECKS, ...CLOSING_CHECKS];

export interface Backends {
  databaseUrl: string;
  redisUrl: string;
}

/**
 * Checks every promise the books make against PostgreSQL and Redis themselves. It waits up to `drainMs` for a moment of rest, in which
 * what holds at rest alone is judged; without one that is not judged, and the finding `at rest` says what was on its way.
 */
export async function auditBooks(
  { databaseUrl, redisUrl }: Backends,
  { drainMs, settleMs = drainMs }: Partial<Patience> & { drainMs: number },
): Promise<Finding[]> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  const redis = openRedis(redisUrl, { role: 'plain', name: 'audit', onError: () => undefined });
  try {
    await redisReady(redis, CONNECT_TIMEOUT_MS);
    const shards = await readCount(database, 'SELECT count(*) FROM shard_epochs');
    const records = new LiveRecords({
      redis,
      library: new FunctionLibrary(redis),
      epochs: new EpochCache(new Epochs(redis)),
      shards,
    });
    const books: Books = { database, redis, live: records, shards };
    const atRest = await judgeAtRest(books, {
      drainMs,
      settleMs,
      take: async () => [
        ...(await judge(database, CHECKS_AT_REST)),
        await compareLiveBalances(books),
        await compareLiveBudgets(books),
      ],
    });
    return [
      ...(await judge(database, CHECKS)),
      await findFailedJobs(books),
      await findUnreadable(books),
      ...atRest,
    ];
  } finally {
    redis.disconnect();
    await database.end();
  }
}

async function judge(database: pg.Client, checks: readonly BookCheck[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name, promise, compared, problems } of checks)
    findings.push({
      name,
      promise,
      compared: await readCount(database, compared),
      problems: await readProblems(database, problems),
    });
  return findings;
}
