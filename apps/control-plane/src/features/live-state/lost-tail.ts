import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { onRedisReturn, type RedisConnection } from '@tollgate/keyspace';
import { Transactions } from '../../platform/database/transactions.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';

/** Redis loses about a second of its file, a failover a little more; both end in a new connection. */
const SAID_AGAIN = '1 minute';
/** Of the books' rows that live in Redis too, those that may have been in what it lost. */
const RECENT = `
  WITH credited AS (UPDATE token_credits SET applied_at = NULL WHERE applied_at > now() - interval '${SAID_AGAIN}' RETURNING subscription_id)
  INSERT INTO live_state_outbox (kind, target_id)
  SELECT 'credit', subscription_id FROM credited
  UNION SELECT 'subscription', id FROM subscriptions WHERE revised_at > now() - interval '${SAID_AGAIN}'
  UNION SELECT 'account', id FROM users WHERE updated_at > now() - interval '${SAID_AGAIN}'
  UNION SELECT 'key', id FROM api_keys WHERE updated_at > now() - interval '${SAID_AGAIN}'`;
const RETRY_MS = 1_000;

/** Says again what Redis was told shortly before it went away. Credits know their number and records their revision, so what it kept stays as it is. */
@Injectable()
export class LostTail implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('live-state');
  private retry: NodeJS.Timeout | undefined;
  private stopWatching = (): void => undefined;

  constructor(
    @Inject(REDIS) private readonly redis: RedisConnection,
    private readonly transactions: Transactions,
  ) {}

  onApplicationBootstrap(): void {
    this.stopWatching = onRedisReturn(this.redis, () => void this.sayAgain());
  }

  onApplicationShutdown(): void {
    this.stopWatching();
    clearTimeout(this.retry);
  }

  private async sayAgain(): Promise<void> {
    try {
      await this.transactions.run((tx) => tx.query(RECENT));
    } catch (error) {
      this.logger.warn(error, 'what Redis may have lost cannot be repeated yet');
      this.retry = setTimeout(() => void this.sayAgain(), RETRY_MS).unref();
    }
  }
}
