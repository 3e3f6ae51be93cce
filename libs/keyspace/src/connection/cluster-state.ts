import { Cluster, type Redis } from 'ioredis';
import type { RedisConnection } from './redis-connection.ts';

const LOOK_MS = 500;
/** Matches errors of a question that a user, or a service that hides its servers, may not ask. They say nothing of the state. */
const MAY_NOT_ASK = /^(?:NOPERM|ERR unknown)/;

/**
 * Knows of a Redis Cluster that answers every command with CLUSTERDOWN although it is connected to: primaries do for two seconds after their start, and for
 * as long as they see no majority of the others. No other Redis has such a state.
 */
export class ClusterState {
  readonly #redis: RedisConnection;
  /** Holds the connection on which each has last said that it serves: one that is made again says nothing of a server that has started again. */
  readonly #serving = new WeakMap<Redis, Redis['stream']>();
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
    if (!(redis instanceof Cluster)) return;
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
    this.#look();
  }

  /** Is false while all primaries that are connected refuse. */
  get isServing(): boolean {
    const primaries = this.#connected();
    return (
      primaries.length === 0 ||
      primaries.some((primary) => this.#serving.get(primary) === primary.stream)
    );
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #connected(): Redis[] {
    return this.#redis instanceof Cluster
      ? this.#redis.nodes('master').filter(({ status }) => status === 'ready')
      : [];
  }

  #look(): void {
    for (const primary of this.#connected()) void this.#ask(primary);
  }

  async #ask(primary: Redis): Promise<void> {
    const { stream } = primary;
    const isServing = await primary.cluster('INFO').then(
      (info) => /^cluster_state:ok\r?$/m.test(info),
      (error: Error) => (MAY_NOT_ASK.test(error.message) ? true : undefined),
    );
    if (isServing === undefined) return;
    if (isServing) this.#serving.set(primary, stream);
    else this.#serving.delete(primary);
  }
}
