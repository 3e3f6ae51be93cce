import type { DataSource } from 'typeorm';
import type { RedisConnection } from '@tollgate/keyspace';
import { z } from 'zod';
import { configSchema } from '../config.ts';
import { AlertsService } from '../features/alerts/alerts.service.ts';
import { carryOutPromises } from '../features/usage/ingest/offline-ingest.ts';
import { EXIT, noArguments, report, say, type Call, type Command } from './command.ts';
import { withDatabase, withRedis } from './connections.ts';
import { compareAtRest, readShards, unknownToBooks, type Difference } from './live-books.ts';
import { refillShards } from './refill.ts';

const QUIET_WITHIN_MS = 5 * 60_000;
const restoreRow = z.object({
  backup_id: z.string(),
  loss: z.array(z.custom<Difference>()).nullable(),
});

export const lossCommand: Command = {
  says: 'after restore: waits until all usage that was not lost is booked, prints what was, a JSON object for each subscription, and has Redis filled again from the books; traffic must be stopped',
  run: (call) => {
    noArguments(call);
    return withDatabase((dataSource) =>
      withRedis(async (redis) => {
        const [row]: unknown[] = await dataSource.query(
          'SELECT backup_id, loss FROM restores WHERE closed_at IS NULL ORDER BY restored_at DESC LIMIT 1',
        );
        if (row === undefined) {
          report('No restore waits for it.');
          return EXIT.done;
        }
        const { backup_id: id, loss: known } = restoreRow.parse(row);
        // Once Redis is filled again it no longer shows the loss: it is kept first.
        const loss = known ?? (await readLoss(dataSource, redis, call));
        for (const line of loss) say(JSON.stringify(line));
        if (call.isDryRun) return EXIT.done;
        if (known === null)
          await dataSource.query('UPDATE restores SET loss = $2 WHERE backup_id = $1', [
            id,
            JSON.stringify(loss),
          ]);
        const shards = await readShards(dataSource);
        // The printed loss includes charges of reaps that these books lack.
        await refillShards(dataSource, redis, { shards, all: shards, keepsReaps: false });
        await close(dataSource);
        return EXIT.done;
      }),
    );
  },
};

/** Writes that the backup had promised to Redis are carried out first, unless nothing may change: whether a control plane does it or not, they are no loss. */
export async function readLoss(
  dataSource: DataSource,
  redis: RedisConnection,
  { isDryRun }: Pick<Call, 'isDryRun'>,
): Promise<Difference[]> {
  if (!isDryRun) {
    const { length: SHARDS } = await readShards(dataSource);
    await carryOutPromises(dataSource, redis, { SHARDS, ...alertConfig() });
  }
  const compared = await compareAtRest(dataSource, redis, {
    waitMs: QUIET_WITHIN_MS,
    onWait: (what) => report(`waiting: ${what}`),
    countsPromises: !isDryRun,
  });
  if ('waiting' in compared)
    throw new Error(`The loss cannot be read yet: there are ${compared.waiting.join(', ')}.`);
  return [...compared.differences, ...(await unknownToBooks(dataSource, redis))];
}

async function close(dataSource: DataSource): Promise<void> {
  await dataSource.query('UPDATE restores SET closed_at = now() WHERE closed_at IS NULL');
  await new AlertsService(dataSource, alertConfig()).resolve(dataSource.manager, {
    rule: 'restore_open',
    subject: 'database',
  });
}

function alertConfig() {
  return configSchema.pick({ ALERT_WEBHOOK_URL: true }).parse(process.env);
}
