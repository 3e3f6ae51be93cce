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

/** Redis loses about the last second of its file, a promoted replica slightly more, both counted from the moment of the failure. */
const LOST_SECONDS_MAX = 60;
/**
 * A process that has just started cannot know when Redis last worked. This time counts back from the newest row that both have, because both may have
 * been away for days.
 */
const UNKNOWN_SECONDS = 3_600;
const RETRY_MS = 1_000;

/**
 * Repeats the writes to Redis from shortly before it failed. Credits carry their number, withdrawals their id and records their revision, so what
 * Redis kept stays unchanged.
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

  /** The newest changes are read before this process serves: its own changes while Redis is away are newer, and do not show when Redis worked. */
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

  /** Returns null when there are no rows, or PostgreSQL does not answer. */
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

  /**
   * `sinceMs` is the time at which Redis returned, by the monotonic clock. A repetition that waits for PostgreSQL reaches back as far as it would
   * have then.
   */
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
