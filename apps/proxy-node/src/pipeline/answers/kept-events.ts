import type { KeptRoom } from '@tollgate/protocols';

/** Bounds the events that all streams of a node keep, so that another upstream can end them. */
const KEPT_EVENTS_BYTES_MAX = 64 * 1024 * 1024;
/** One stream keeps at most this part of its worker's room. */
const STREAM_PART = 1 / 8;

/** Names the limit that a stream met: the room that its worker has for its account, or its own part. */
export type KeptLimit = 'room' | 'stream';

/**
 * Has room for the events that streams keep. A stream that finds none keeps nothing, and ends as an error where it breaks off. An account takes at most as
 * much as it leaves free, so that its streams, however many and long, leave room for those of others.
 */
export class KeptEvents {
  readonly #bytesMax: number;
  readonly #onRefused: (limit: KeptLimit) => void;
  readonly #bytesOf = new Map<number, number>();
  #bytes = 0;

  /** `workers` is the number of processes of the node, each of which has its part of the room. */
  constructor(workers: number, onRefused: (limit: KeptLimit) => void) {
    this.#bytesMax = KEPT_EVENTS_BYTES_MAX / workers;
    this.#onRefused = onRefused;
  }

  get bytes(): number {
    return this.#bytes;
  }

  of(accountId: number): KeptRoom {
    return {
      take: (bytes, had) => this.#take(accountId, bytes, had),
      giveBack: (bytes) => this.#add(accountId, -bytes),
    };
  }

  #take(accountId: number, bytes: number, had: number): boolean {
    if (had + bytes > this.#bytesMax * STREAM_PART) return this.#refuse('stream');
    const own = (this.#bytesOf.get(accountId) ?? 0) + bytes;
    if (own > this.#bytesMax - this.#bytes - bytes) return this.#refuse('room');
    this.#add(accountId, bytes);
    return true;
  }

  #refuse(limit: KeptLimit): false {
    this.#onRefused(limit);
    return false;
  }

  #add(accountId: number, bytes: number): void {
    this.#bytes += bytes;
    const own = (this.#bytesOf.get(accountId) ?? 0) + bytes;
    if (own === 0) this.#bytesOf.delete(accountId);
    else this.#bytesOf.set(accountId, own);
  }
}
