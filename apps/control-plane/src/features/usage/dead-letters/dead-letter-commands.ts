import type { RedisConnection } from '@tollgate/keyspace';
import type { DataSource } from 'typeorm';
import { z } from 'zod';
import { configSchema } from '../../../config.ts';
import { SYSTEM } from '../../activity/activity.service.ts';
import { ShardCount } from '../../epochs/shard-count.sql.ts';
import { offlineReconciler } from '../../reconciliation/offline-reconciler.ts';
import type { Reconciler } from '../../reconciliation/reconciler.service.ts';
import {
  bookDeadLetterSchema,
  deadLetterListSchema,
  dismissDeadLetterSchema,
  type BookDeadLetter,
  type DeadLetterResponse,
} from './dead-letters.dto.ts';
import type { DeadLettersService } from './dead-letters.service.ts';
import { offlineDeadLetters } from './offline-dead-letters.ts';

const PAGE_SIZE = 100;
const bookingSchema = configSchema.pick({ SHARDS: true, ALERT_WEBHOOK_URL: true });
const comparingSchema = configSchema.pick({
  SHARDS: true,
  REDIS_URL: true,
  REDIS_QUEUE_URL: true,
  ALERT_WEBHOOK_URL: true,
});
const idSchema = z.coerce.number().int().positive();

/**
 * Returns the output of the administrators' program, one JSON object per line; undefined when the arguments are not a command. `redis` is null for
 * commands that book nothing. Throws `InvalidConfig` while SHARDS differs from the installation's.
 */
export async function runDeadLetterCommand(
  dataSource: DataSource,
  redis: RedisConnection | null,
  [command, idText, text, ...rest]: readonly string[],
  { isConfirmed }: { isConfirmed: boolean },
): Promise<object[] | undefined> {
  if (command === 'dead-letters' && idText === undefined) {
    const query = deadLetterListSchema.parse({ sort: 'id', page_size: PAGE_SIZE });
    return (await openLetters(dataSource, null).list(query)).data;
  }
  const id = idSchema.safeParse(idText).data;
  if (id === undefined || rest.length > 0) return undefined;
  if (command === 'book-dead-letter') {
    const body = bookDeadLetterSchema.parse({
      fields: JSON.parse(text ?? '{}'),
      although_day_was_dropped: isConfirmed,
    });
    if (!redis) throw new Error('booking a dead letter needs Redis');
    return [await book(dataSource, redis, { id, body })];
  }
  if (command !== 'dismiss-dead-letter') return undefined;
  const dismissal = dismissDeadLetterSchema.parse({ note: text });
  return [await openLetters(dataSource, null).dismiss(SYSTEM, id, dismissal)];
}

async function book(
  dataSource: DataSource,
  redis: RedisConnection,
  { id, body }: { id: number; body: BookDeadLetter },
): Promise<DeadLetterResponse> {
  const config = comparingSchema.parse(process.env);
  // Another SHARDS would search the subscription in another shard, where it has no record.
  await new ShardCount(dataSource, config).refuseOther();
  const balances = offlineReconciler(dataSource, redis, config);
  try {
    return await openLetters(dataSource, balances).book(SYSTEM, id, body);
  } finally {
    balances.end();
  }
}

function openLetters(
  dataSource: DataSource,
  balances: Pick<Reconciler, 'compare'> | null,
): DeadLettersService {
  return offlineDeadLetters(dataSource, bookingSchema.parse(process.env), balances);
}
