import { ClusterState, isRedisReachable, type RedisConnection } from '@tollgate/keyspace';
import { MemoryGauge, type MemoryGaugeOptions } from './memory-gauge.ts';

interface RedisHealthOptions extends Pick<MemoryGaugeOptions, 'log' | 'timers'> {
  redis: RedisConnection;
  memoryUse?: MemoryGaugeOptions['memoryUse'];
}

/** Holds a node's knowledge of its Redis before it makes a call. */
export class RedisHealth {
  readonly #redis: RedisConnection;
  readonly #memory: MemoryGauge;
  readonly #cluster: ClusterState;

  constructor({ redis, memoryUse = () => Promise.resolve(0), ...options }: RedisHealthOptions) {
    this.#redis = redis;
    this.#memory = new MemoryGauge({ memoryUse, ...options });
    this.#cluster = new ClusterState(redis);
  }

  get isReachable(): boolean {
    return isRedisReachable(this.#redis);
  }

  /** Is the reason for making no new call, or null. */
  get refusal(): 'redis_away' | 'backlog_full' | null {
    if (!this.isReachable) return 'redis_away';
    return this.#memory.isFull ? 'backlog_full' : null;
  }

  /** Returns false while it would refuse every call. */
  get isServing(): boolean {
    return this.#cluster.isServing;
  }

  close(): void {
    this.#memory.close();
    this.#cluster.end();
  }
}
