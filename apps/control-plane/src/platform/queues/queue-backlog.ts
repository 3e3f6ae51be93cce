import { Inject, Injectable } from '@nestjs/common';
import { BULL_PREFIX, type RedisConnection } from '@tollgate/keyspace';
import { REDIS } from '../redis/redis.module.ts';
import type { QueueName } from './queue-workers.ts';

/** Tells when a queue has done all that it was given up to a moment, by job numbers: no clock is trusted. */
@Injectable()
export class QueueBacklog {
  constructor(@Inject(REDIS) private readonly redis: RedisConnection) {}

  /** Number of the job added last; 0 before the first. */
  async lastJob(queue: QueueName): Promise<number> {
    return Number((await this.redis.get(`${BULL_PREFIX}:${queue}:id`)) ?? 0);
  }

  /** False as long as a job with this number or a lower one waits, runs, rests or has failed. */
  async isDoneUpTo(queue: QueueName, job: number): Promise<boolean> {
    const key = (part: string): string => `${BULL_PREFIX}:${queue}:${part}`;
    // In one transaction: a job that moves between two lists is seen in one of them.
    const replies = await this.redis
      .multi()
      .lrange(key('wait'), 0, -1)
      .lrange(key('active'), 0, -1)
      .zrange(key('delayed'), '0', '-1')
      .zrange(key('prioritized'), '0', '-1')
      .zrange(key('failed'), '0', '-1')
      .exec();
    const ids = (replies ?? []).flatMap(([error, list]) => {
      if (error) throw error;
      return Array.isArray(list) ? list.map(Number) : [];
    });
    return ids.every((id) => !(id <= job));
  }
}
