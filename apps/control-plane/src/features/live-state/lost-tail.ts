import {
  Inject,
  Injectable,
  Logger,
  Optional,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { onRedisReturn, type RedisConnection } from '@tollgate/keyspace';
import { Transactions } from '../../platform/database/transactions.ts';
import { Host } from '../../platform/host/host.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { LiveStatePump } from './live-state-pump.ts';
import { newestChange, promiseRecent, type Lost } from './lost-tail.sql.ts';

/** Redis loses about a second of its file, a promoted replica a little more, both counted from the moment it went away. */
const LOST_SECONDS_MAX = 60;
/** For a process that has just started: it cannot know when Redis was last well. Counted from the newest of what both have, as both may have been away for days. */
const UNKNOWN_SECONDS = 3_600;
const RETRY_MS = 1_000;

/**
 * Repeats what was written to Redis shortly before it went away. Credits know their number, withdrawals their id and records their revision,
 * so what Redis kept stays as it is.
 */
@Injectable()
export class LostTail implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('live-state');
  private cancelRetry = (): void => undefined;
  private stopWatching = (): void => undefined;

  constructor(
    @Inject(REDIS) private readonly redis: RedisConnection,
    private readonly transactions: Transactions,
    private readonly pump: LiveStatePump,
    @Optional() private readonly host: Host = new Host(),
  ) {}

  /** The newest changes are read before this process serves: whatever it changes while Redis is away is newer, and says nothing of when Redis was well. */
  async onApplicationBootstrap(): Promise<void> {
    const newest = await this.readNewest();
    const monotonicNow = (): number => this.host.monotonicMs();
    const onReturn = (awayMs: number | undefined): void => {
      const lost =
        awayMs === undefined
          ? { seconds: UNKNOWN_SECONDS, from: newest }
          : { seconds: Math.ceil(awayMs / 1_000) + LOST_SECONDS_MAX, from: null };
      void this.repeat(lost, monotonicNow());
    };
    this.stopWatching = onRedisReturn(this.redis, onReturn, monotonicNow);
  }

  onApplicationShutdown(): void {
    this.stopWatching();
    this.cancelRetry();
  }

  /** Null when nothing is there, or PostgreSQL does not answer. */
  private async readNewest(): Promise<Date | null> {
    try {
      return await this.transactions.run(newestChange);
    } catch (error) {
      this.logger.warn(
        error,
        'the newest change is not known; writes of the last hour are repeated',
      );
      return null;
    }
  }

  /** `sinceMs`: when Redis returned, by the monotonic clock; what waits for PostgreSQL reaches as far back as it would have then. */
  private async repeat(lost: Lost, sinceMs: number): Promise<void> {
    try {
      const waitedSeconds = Math.ceil((this.host.monotonicMs() - sinceMs) / 1_000);
      const rows = await this.transactions.run((tx) =>
        promiseRecent(tx, { ...lost, seconds: lost.seconds + waitedSeconds }),
      );
      await this.pump.deliver(
        rows,
        rows.map(({ rowId }) => rowId),
      );
    } catch (error) {
      this.logger.warn(error, 'writes that Redis may have lost cannot be replayed yet');
      this.cancelRetry = this.host.after(RETRY_MS, () => void this.repeat(lost, sinceMs));
    }
  }
}
