import {
  Inject,
  Injectable,
  Logger,
  Optional,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { onRedisReturn, type RedisConnection } from '@tollgate/keyspace';
import { z } from 'zod';
import { Transactions } from '../../platform/database/transactions.ts';
import { Host } from '../../platform/host/host.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { LiveStatePump } from './live-state-pump.ts';
import { promisedRow } from './live-target.ts';

/** Redis loses about a second of its file, a promoted replica a little more, both counted from the moment it went away. */
const LOST_SECONDS_MAX = 60;
/** For a process that has just started: it cannot know when Redis was last well. Counted from the newest of what both have, as both may have been away for days. */
const UNKNOWN_SECONDS = 3_600;
/** A withdrawal is followed by what running requests release, for as long as they run. */
const RELEASES_FOLLOW = '1 day';
/** The newest of PostgreSQL's rows that live in Redis too. */
const NEWEST = `
  SELECT greatest(
    (SELECT max(revised_at) FROM subscriptions), (SELECT max(updated_at) FROM users),
    (SELECT max(updated_at) FROM api_keys), (SELECT max(updated_at) FROM request_ceilings)) AS at`;
/** Of PostgreSQL's rows that live in Redis too, those that may have been in what it lost. $1: seconds; $2: counted from then, null for now. Withdrawals first: until then refunded tokens look spendable. */
const RECENT = `
  WITH since AS MATERIALIZED (SELECT least(now(), $2::timestamptz) - make_interval(secs => $1) AS at)
  INSERT INTO live_state_outbox (kind, target_id)
  SELECT kind, id FROM (
    SELECT 1 AS turn, 'withdrawal' AS kind, id FROM subscriptions, since WHERE withdrawal_id IS NOT NULL AND revised_at > since.at - interval '${RELEASES_FOLLOW}'
    UNION SELECT 2, 'subscription', subscription_id FROM token_credits, since WHERE created_at > since.at
    UNION SELECT 2, 'subscription', id FROM subscriptions, since WHERE revised_at > since.at
    UNION SELECT 3, 'account', id FROM users, since WHERE updated_at > since.at
    UNION SELECT 4, 'key', k.id FROM since, request_ceilings c, api_keys k JOIN users u ON u.id = k.user_id WHERE greatest(k.updated_at, u.updated_at, c.updated_at) > since.at) recent
  ORDER BY turn, id
  RETURNING id, kind, target_id`;
const RETRY_MS = 1_000;

interface Lost {
  readonly seconds: number;
  /** Null: now. */
  readonly from: Date | null;
}

const newestRow = z.object({ at: z.date().nullable() });
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

  /** What is newest is read before this process serves: whatever it changes while Redis is away is newer, and says nothing of when Redis was well. */
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
      const rows: unknown[] = await this.transactions.run((tx) => tx.query(NEWEST));
      return newestRow.parse(rows[0]).at;
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
      const raw: unknown[] = await this.transactions.run((tx) =>
        tx.query(RECENT, [lost.seconds + waitedSeconds, lost.from]),
      );
      const rows = raw.map((row) => promisedRow.parse(row));
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
