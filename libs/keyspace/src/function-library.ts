import { Cluster, Command, type Redis } from 'ioredis';
import { readFunctionSource, type FunctionName, type FunctionSource } from './function-source.ts';

export type RedisConnection = Redis | Cluster;

/** Every server that takes writes: commands without a key go to each of them. */
export function primariesOf(redis: RedisConnection): Redis[] {
  return redis instanceof Cluster ? redis.nodes('master') : [redis];
}

/** The Lua functions as Redis holds them: loaded when missing. They are persisted and replicated, so SCRIPT FLUSH, restarts and failovers keep them. */
export class FunctionLibrary {
  readonly #redis: RedisConnection;
  readonly #source: FunctionSource;
  readonly #loading = new Map<Redis, Promise<void>>();

  constructor(redis: RedisConnection, source: FunctionSource = readFunctionSource()) {
    this.#redis = redis;
    this.#source = source;
  }

  /** Calls a function; loads the library and tries once more when Redis does not know it. Nothing ran then, so this repeats nothing. */
  async call(
    name: FunctionName,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const functionName = this.#source.nameOf(name);
    try {
      return await this.#redis.fcall(functionName, keys.length, ...keys, ...args);
    } catch (error) {
      if (!isFunctionMissing(error)) throw error;
    }
    // On this key's primary alone: another that does not answer must not keep this one waiting.
    await Promise.all(this.#homesOf(keys[0]).map((primary) => this.#load(primary)));
    return this.#redis.fcall(functionName, keys.length, ...keys, ...args);
  }

  /** On every primary. Safe to call at any time, by any number of processes. */
  async load(): Promise<void> {
    await Promise.all(primariesOf(this.#redis).map((primary) => this.#load(primary)));
  }

  /** Where the key lives; all of them while that is not known. */
  #homesOf(key = ''): Redis[] {
    const primaries = primariesOf(this.#redis);
    if (!(this.#redis instanceof Cluster)) return primaries;
    const address = this.#redis.slots[new Command('exists', [key]).getSlot()]?.[0];
    const found = primaries.filter(({ options: { host, port } }) => address === `${host}:${port}`);
    return found.length > 0 ? found : primaries;
  }

  #load(primary: Redis): Promise<void> {
    const running = this.#loading.get(primary);
    if (running) return running;
    const loading = this.#loadInto(primary).finally(() => this.#loading.delete(primary));
    this.#loading.set(primary, loading);
    return loading;
  }

  async #loadInto(primary: Redis): Promise<void> {
    try {
      await primary.function('LOAD', this.#source.text);
    } catch (error) {
      // The name carries the content's hash: a library of this name is this library.
      if (!(error instanceof Error && error.message.includes('already exists'))) throw error;
    }
  }
}

function isFunctionMissing(error: unknown): boolean {
  return error instanceof Error && error.message.includes('Function not found');
}
