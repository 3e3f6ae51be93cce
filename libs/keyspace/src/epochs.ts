import { FunctionLibrary } from './functions/function-library.ts';
import type { RedisConnection } from './connection/redis-connection.ts';
import { keys } from './keys.ts';
import { ReplyReader } from './connection/reply-reader.ts';

/** Stands in place of the epoch while a shard is being filled: to all but the process that fills it the shard stays fenced. */
const REBUILDING = 'rebuilding:';
/** Stands before the epoch of a shard that is full again, until running requests have had time to take their holds again: nothing is admitted or withdrawn. */
const RESTORING = 'restoring:';

/** Keeps the fencing value of each shard. Where it is absent, or other than expected, every function answers FENCED and changes nothing. */
export class Epochs {
  readonly #redis: RedisConnection;
  readonly #library: FunctionLibrary;

  constructor(redis: RedisConnection, library = new FunctionLibrary(redis)) {
    this.#redis = redis;
    this.#library = library;
  }

  /** Returns null while the shard has none or is being filled. */
  async read(shard: string): Promise<string | null> {
    const found = await this.readRaw(shard);
    return found?.startsWith(REBUILDING) ? null : found && epochIn(found);
  }

  /** Returns true unless the shard has no epoch, is being filled, or is restoring holds. */
  async isOpen(shard: string): Promise<boolean> {
    return (await this.readOpen(shard)) !== null;
  }

  /** Returns the epoch of an open shard, else null. */
  async readOpen(shard: string): Promise<string | null> {
    const found = await this.readRaw(shard);
    return found?.startsWith(REBUILDING) || found?.startsWith(RESTORING) ? null : found;
  }

  /** Returns the epoch whose holds are being restored; null when the shard is open, or has no epoch. */
  async readRestoring(shard: string): Promise<string | null> {
    const found = await this.readRaw(shard);
    return found?.startsWith(RESTORING) ? epochIn(found) : null;
  }

  /** Returns the raw value, the mark of a rebuild too. */
  readRaw(shard: string): Promise<string | null> {
    return this.#redis.get(keys.epoch(shard));
  }

  /** Lets the records of a shard be written by a cache that sees rebuilds, and by no other writer, until `set`. */
  async beginRebuild(shard: string, token: string): Promise<void> {
    await this.set(shard, `${REBUILDING}${token}`);
  }

  /** The shard is full: running requests take their holds again, others wait. Returns false when it has lost its data again meanwhile. */
  beginRestoring(shard: string, token: string): Promise<boolean> {
    return this.#advance(shard, `${REBUILDING}${token}`, `${RESTORING}${token}`);
  }

  /** Opens the shard; returns false when it is not restoring holds in this epoch. */
  open(shard: string, epoch: string): Promise<boolean> {
    return this.#advance(shard, `${RESTORING}${epoch}`, epoch);
  }

  /** Opens a shard at the first start: there is nothing to restore. Returns false when the shard has lost its data meanwhile. */
  openFilled(shard: string, token: string): Promise<boolean> {
    return this.#advance(shard, `${REBUILDING}${token}`, token);
  }

  async #advance(shard: string, from: string, to: string): Promise<boolean> {
    const reply = await this.#library.call('advance_epoch', [keys.epoch(shard)], [from, to]);
    return new ReplyReader(reply).oneOf('OK', 'FENCED') === 'OK';
  }

  /** Serves the first start alone: an installation that had epochs before and finds none has lost its data and must rebuild. Returns true when the epoch was set. */
  async initialise(shard: string, epoch: string): Promise<boolean> {
    return (await this.#redis.set(keys.epoch(shard), epoch, 'NX')) === 'OK';
  }

  async set(shard: string, epoch: string): Promise<void> {
    await this.#redis.set(keys.epoch(shard), epoch);
  }

  /** Fences the shard: from now on nothing is admitted, settled or credited in it. */
  async clear(shard: string): Promise<void> {
    await this.#redis.del(keys.epoch(shard));
  }
}

function epochIn(found: string): string {
  return found.startsWith(RESTORING) ? found.slice(RESTORING.length) : found;
}

/** Holds the epochs that this process believes to be current. A missing epoch is never remembered. */
export class EpochCache {
  readonly #epochs: Epochs;
  readonly #isRebuilder: boolean;
  readonly #known = new Map<string, string>();
  readonly #reading = new Map<string, Promise<string | null>>();

  /** Sets `isRebuilder` for the process that fills a shard, to which the mark of the rebuild is the epoch. */
  constructor(epochs: Epochs, { isRebuilder = false }: { isRebuilder?: boolean } = {}) {
    this.#epochs = epochs;
    this.#isRebuilder = isRebuilder;
  }

  async expected(shard: string): Promise<string | null> {
    return this.#known.get(shard) ?? this.refresh(shard);
  }

  /** Reads the epoch again; calls at the same time share one read. */
  refresh(shard: string): Promise<string | null> {
    const running = this.#reading.get(shard);
    if (running) return running;
    const reading = this.#read(shard).finally(() => this.#reading.delete(shard));
    this.#reading.set(shard, reading);
    return reading;
  }

  /** Calls with the expected epoch; when that is answered `fenced` and the epoch has changed meanwhile, calls again with the new one. It is not `async`, as each request would pay for its frame. */
  refreshingOnce<R extends { kind: string }>(
    shard: string,
    call: (epoch: string) => Promise<R>,
  ): Promise<R | { kind: 'fenced' }> {
    const known = this.#known.get(shard);
    if (known === undefined) return this.#callAnew(shard, null, call);
    return call(known).then((reply) =>
      reply.kind === 'fenced' ? this.#callAnew(shard, known, call) : reply,
    );
  }

  async #callAnew<R extends { kind: string }>(
    shard: string,
    fenced: string | null,
    call: (epoch: string) => Promise<R>,
  ): Promise<R | { kind: 'fenced' }> {
    const epoch = await this.refresh(shard);
    return epoch === null || epoch === fenced ? { kind: 'fenced' } : call(epoch);
  }

  async #read(shard: string): Promise<string | null> {
    const raw = this.#isRebuilder ? await this.#epochs.readRaw(shard) : null;
    const epoch = raw === null ? await this.#epochs.read(shard) : epochIn(raw);
    if (epoch === null) this.#known.delete(shard);
    else this.#known.set(shard, epoch);
    return epoch;
  }
}
