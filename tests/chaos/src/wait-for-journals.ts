import { type Tollgate, letPass, answerWithin } from '@tollgate/harness';
import { FleetStore, FunctionLibrary, openRedis, redisReady } from '@tollgate/keyspace';

const CONNECT_MS = 10_000;
const REPORT_PERIOD_MS = 1_000;

/** Nodes keep what PostgreSQL has not acknowledged; a Redis that lost everything looks settled long before they are. */
export async function waitForJournals(
  { redisUrl, processNames }: Tollgate,
  deadline: number,
): Promise<void> {
  const redis = openRedis(redisUrl, { role: 'plain', name: 'chaos', onError: () => undefined });
  const nodes = processNames.filter((name) => name.startsWith('node-')).length;
  try {
    await redisReady(redis, CONNECT_MS);
    const fleet = new FleetStore({ redis, library: new FunctionLibrary(redis) });
    await letPass(REPORT_PERIOD_MS, 'every node reports once more');
    await answerWithin(deadline - Date.now(), async () => {
      const reports = await fleet.listReports({
        nowMs: Date.now(),
        ageMaxMs: 2 * REPORT_PERIOD_MS,
      });
      return (
        reports.length === nodes &&
        reports.every(({ in_flight, unacknowledged }) => in_flight === 0 && unacknowledged === 0)
      );
    });
  } finally {
    redis.disconnect();
  }
}
