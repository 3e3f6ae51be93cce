import type { KeptRoom } from '@tollgate/protocols';

/** Bounds the events that all streams of a node keep, so that another upstream can end them. */
const KEPT_EVENTS_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Has room for the events that streams keep. A stream that finds none keeps nothing, and ends as an error where it breaks off. An account takes at most as
 * much as it leaves free, so that its streams, however many and long, leave room for those of others.
 */
export class KeptEvents {
  readonly #bytesMax: number;
  readonly #bytesOf = new Map<number, number>();
  #bytes = 0;

  /** `workers` is the number of processes of the node, each of which has its part of the room. */
  constructor(workers: number) {
    this.#bytesMax = KEPT_EVENTS_BYTES_MAX / workers;
  }

  get bytes(): number {
    return this.#bytes;
  }

  of(accountId: number): KeptRoom {
    return {
      take: (bytes) => this.#take(accountId, bytes),
      giveBack: (bytes) => this.#add(accountId, -bytes),
    };
  }

  #take(accountId: number, bytes: number): boolean {
    const own = (this.#bytesOf.get(accountId) ?? 0) + bytes;
    if (own > this.#bytesMax - this.#bytes - bytes) return false;
    this.#add(accountId, bytes);
    return true;
  }

  #add(accountId: number, bytes: number): void {
    this.#bytes += bytes;
    const own = (this.#bytesOf.get(accountId) ?? 0) + bytes;
    if (own === 0) this.#bytesOf.delete(accountId);
    else this.#bytesOf.set(accountId, own);
  }
}
