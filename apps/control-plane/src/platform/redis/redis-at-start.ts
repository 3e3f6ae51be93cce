import { Inject, Injectable, Logger } from '@nestjs/common';
import { redisReady, type RedisConnection } from '@tollgate/keyspace';
import { REDIS } from './redis-token.ts';

/** A control plane starts while Redis is away: all checks of a start together wait no longer than this. */
const READY_MS = 2_000;

/** Asks Redis what a check of the start needs. */
@Injectable()
export class RedisAtStart {
  private readonly logger = new Logger('redis');
  private ready: Promise<unknown> | undefined;

  constructor(@Inject(REDIS) private readonly redis: RedisConnection) {}

  /** Returns undefined, and logs that `what` could not be read, when Redis does not answer. */
  async read<T>(what: string, ask: () => Promise<T>): Promise<T | undefined> {
    try {
      this.ready ??= redisReady(this.redis, READY_MS);
      await this.ready;
      return await ask();
    } catch (error) {
      this.logger.warn(error, `${what} could not be read`);
      return undefined;
    }
  }
}
