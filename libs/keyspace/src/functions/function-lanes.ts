import { Cluster, Command, type Redis } from 'ioredis';
import { FunctionLane } from './function-lane.ts';
import type { RedisConnection } from '../connection/redis-connection.ts';

/** Keeps a lane to each server of a connection, and knows which of them a key lives behind. */
export class FunctionLanes {
  readonly #redis: RedisConnection;
  /** Maps the server's address to its lane. */
  readonly #lanes = new Map<string, FunctionLane>();
  /** Maps keys to slots; the same key always asks for a shard. */
  readonly #slots = new Map<string, number>();

  constructor(redis: RedisConnection) {
    this.#redis = redis;
    if (!(redis instanceof Cluster)) {
      this.#lanes.set(ONLY, new FunctionLane(redis));
      return;
    }
    const follow = (server: Redis): void => {
      const address = addressOf(server);
      this.#lanes.get(address)?.close();
      this.#lanes.set(address, new FunctionLane(server));
    };
    redis.nodes().forEach(follow);
    redis.on('+node', follow);
    redis.on('-node', (server: Redis) => {
      this.#lanes.get(addressOf(server))?.close();
      this.#lanes.delete(addressOf(server));
    });
  }

  /** Returns null while the library's own connection is to be used. */
  laneOf(key: string): FunctionLane | null {
    const address =
      this.#redis instanceof Cluster ? this.#redis.slots[this.#slotOf(key)]?.[0] : ONLY;
    const lane = this.#lanes.get(address ?? '');
    return lane?.isOpen ? lane : null;
  }

  #slotOf(key: string): number {
    let slot = this.#slots.get(key);
    if (slot === undefined) {
      slot = new Command('exists', [key]).getSlot();
      if (this.#slots.size >= SLOTS_MAX) this.#slots.clear();
      this.#slots.set(key, slot);
    }
    return slot;
  }
}

const ONLY = 'the only one';
/** Is more than there are shards. */
const SLOTS_MAX = 100_000;

function addressOf({ options: { host, port } }: Redis): string {
  return `${host}:${port}`;
}
