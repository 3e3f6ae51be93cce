import { Cluster, type Redis } from 'ioredis';
import { readFunctionSource, type FunctionName, type FunctionSource } from './function-source.ts';

export type RedisConnection = Redis | Cluster;

/** The Lua functions as Redis holds them: loaded when missing, on every primary. They are persisted and replicated, so SCRIPT FLUSH, restarts and failovers keep them. */
export class FunctionLibrary {
  readonly #redis: RedisConnection;
  readonly #source: FunctionSource;
  #loading: Promise<void> | undefined;

  constructor(redis: RedisConnection, source: FunctionSource = readFunctionSource()) {
    this.#redis = redis;
    this.#source = source;
  }

  /** Calls a function; loads the library and tries once more when Redis does not know it. Nothing ran then, so this repeats nothing. */
  async call(name: FunctionName, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const functionName = this.#source.nameOf(name);
    try {
      return await this.#redis.fcall(functionName, keys.length, ...keys, ...args);
    } catch (error) {
      if (!isFunctionMissing(error)) throw error;
    }
    await this.load();
    return this.#redis.fcall(functionName, keys.length, ...keys, ...args);
  }

  /** Safe to call at any time, by any number of processes. */
  async load(): Promise<void> {
    this.#loading ??= this.#loadEverywhere().finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  async #loadEverywhere(): Promise<void> {
    const primaries = this.#redis instanceof Cluster ? this.#redis.nodes('master') : [this.#redis];
    await Promise.all(primaries.map((primary) => this.#loadInto(primary)));
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
