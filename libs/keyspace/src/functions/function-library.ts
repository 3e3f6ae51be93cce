import { setTimeout as delay } from 'node:timers/promises';
import { Cluster, Command, type Redis } from 'ioredis';
import type { FunctionLanes } from './function-lanes.ts';
import {
  FUNCTION_NAMES,
  readFunctionSource,
  type FunctionName,
  type FunctionSource,
} from './function-source.ts';
import { librariesIn } from './function-list.ts';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { RespError } from '../connection/resp.ts';

export type { RedisConnection };

/** The control plane looks every second. */
const LOADED_WITHIN_MS = 3_000;
const LOADED_POLL_MS = 50;

interface Call {
  /** Is the function's name in Redis. */
  readonly name: string;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** Returns every server that takes writes: commands without a key go to each of them. */
export function primariesOf(redis: RedisConnection): Redis[] {
  return redis instanceof Cluster ? redis.nodes('master') : [redis];
}

/** Calls the Lua functions as Redis holds them: loads them when they are missing. They are persisted and replicated, so SCRIPT FLUSH, restarts and failovers keep them. */
export class FunctionLibrary {
  readonly #redis: RedisConnection;
  readonly #source: FunctionSource;
  readonly #lanes: FunctionLanes | null;
  readonly #loading = new Map<Redis, Promise<void>>();
  readonly #asking = new Map<Redis, Promise<unknown>>();

  /** Takes `lanes` for the process whose calls are on a request's path. */
  constructor(
    redis: RedisConnection,
    source: FunctionSource = readFunctionSource(),
    lanes: FunctionLanes | null = null,
  ) {
    this.#redis = redis;
    this.#source = source;
    this.#lanes = lanes;
  }

  /**
   * Calls a function; when Redis does not know it, loads the library, or waits until the control plane has where this user must not, and tries
   * again. Nothing ran then, so this repeats nothing.
   */
  call(name: FunctionName, keys: readonly string[], args: Call['args']): Promise<unknown> {
    const call = { name: this.#source.nameOf(name), keys, args };
    return this.#send(call, (error) => this.#loadAndSend(call, error));
  }

  /**
   * A call that a lane cannot decide (a slot that moved, a primary that no longer is one) ran nowhere, and takes the library's way. It is one promise on a
   * lane, as each request would pay for more. `otherwise` answers for a failed call.
   */
  #send(call: Call, otherwise: (error: unknown) => Promise<unknown>): Promise<unknown> {
    const { name, keys, args } = call;
    const lane = this.#lanes?.laneOf(keys[0] ?? '');
    if (!lane) return this.#sendByLibrary(call).catch(otherwise);
    return new Promise((resolve, reject) =>
      lane.fcall(name, keys, args, {
        resolve,
        reject: (cause) => {
          const again = isMisplaced(cause)
            ? this.#sendByLibrary(call).catch(otherwise)
            : otherwise(cause);
          again.then(resolve, reject);
        },
      }),
    );
  }

  #sendByLibrary({ name, keys, args }: Call): Promise<unknown> {
    return this.#redis.fcall(name, keys.length, ...keys, ...args);
  }

  async #loadAndSend(call: Call, missing: unknown): Promise<unknown> {
    if (!isFunctionMissing(missing)) throw missing;
    try {
      // It is loaded on this key's primary alone: another that does not answer must not keep this one waiting.
      await Promise.all(this.#homesOf(call.keys[0]).map((primary) => this.#load(primary)));
    } catch (error) {
      if (!isForbidden(error)) throw error;
      return this.#sendOnceLoaded(call);
    }
    return this.#sendOnce(call);
  }

  #sendOnce(call: Call): Promise<unknown> {
    return this.#send(call, (cause) => Promise.reject(cause));
  }

  /**
   * One call per primary asks until the library is there, the others wait for it: a node that starts first, or an outage under load, must not flood
   * Redis. Each has its own time: the one that asks and gives up is followed by the next.
   */
  async #sendOnceLoaded(call: Call): Promise<unknown> {
    const deadline = performance.now() + LOADED_WITHIN_MS;
    const [home] = this.#homesOf(call.keys[0]);
    if (!home) return this.#askUntilLoaded(call, deadline);
    for (let asked = this.#asking.get(home); asked; asked = this.#asking.get(home)) {
      const hasGivenUp = await asked.then(() => false, isFunctionMissing);
      if (hasGivenUp) continue;
      try {
        return await this.#sendOnce(call);
      } catch (error) {
        // The one that asked may have failed for a reason of its own.
        if (!isFunctionMissing(error) || performance.now() >= deadline) throw error;
      }
    }
    const asking = this.#askUntilLoaded(call, deadline).finally(() => this.#asking.delete(home));
    this.#asking.set(home, asking);
    return asking;
  }

  async #askUntilLoaded(call: Call, deadline: number): Promise<unknown> {
    for (; ; await delay(LOADED_POLL_MS)) {
      try {
        return await this.#sendOnce(call);
      } catch (error) {
        if (!isFunctionMissing(error) || performance.now() >= deadline) throw error;
      }
    }
  }

  /** Loads the library on those primaries that lack it, and on those where its name, or one of its functions, has another text: Redis is not trusted, and no release changes a library under its name. Only the control plane may load. Returns the names of the libraries that it removed. */
  async keepLoaded(): Promise<string[]> {
    const removed = await Promise.all(
      primariesOf(this.#redis).map(async (primary) => {
        const [found] = librariesIn(
          await primary.function('LIST', 'LIBRARYNAME', this.#source.library, 'WITHCODE'),
        );
        if (found?.code === this.#source.text) return [];
        if (found === undefined) return this.#loadOverStrangers(primary);
        await primary.function('LOAD', 'REPLACE', this.#source.text);
        return [this.#source.library];
      }),
    );
    return [...new Set(removed.flat())];
  }

  /** Redis refuses a library while another one has a function of its name. */
  async #loadOverStrangers(primary: Redis): Promise<string[]> {
    const own = new Set<string>(FUNCTION_NAMES.map((name) => this.#source.nameOf(name)));
    const strangers = librariesIn(await primary.function('LIST')).filter(
      ({ name, functions }) => name !== this.#source.library && functions.some((f) => own.has(f)),
    );
    for (const { name } of strangers) await primary.function('DELETE', name);
    await this.#load(primary);
    return strangers.map(({ name }) => name);
  }

  /** Loads the library on every primary. Any number of processes may call it at any time. */
  async load(): Promise<void> {
    await Promise.all(primariesOf(this.#redis).map((primary) => this.#load(primary)));
  }

  /** Returns the server of the key; all of them while that is not known. */
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

/** Returns true where Redis' user may not load: who runs functions need not be who may load them. */
function isForbidden(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOPERM');
}

function isMisplaced(error: unknown): boolean {
  return (
    error instanceof RespError &&
    /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN|READONLY|LOADING|MASTERDOWN)\b/.test(error.message)
  );
}

function isFunctionMissing(error: unknown): boolean {
  return error instanceof Error && error.message.includes('Function not found');
}
