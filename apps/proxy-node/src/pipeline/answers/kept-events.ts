import type { KeptRoom } from '@tollgate/protocols';

/** Bounds the events that all streams of a node keep, so that another upstream can end them. */
const KEPT_EVENTS_BYTES_MAX = 64 * 1024 * 1024;

/** Has room for the events that streams keep. A stream that finds none keeps nothing, and ends as an error where it breaks off. */
export class KeptEvents implements KeptRoom {
  readonly #bytesMax: number;
  #bytes = 0;

  /** `workers` is the number of processes of the node, each of which has its part of the room. */
  constructor(workers: number) {
    this.#bytesMax = KEPT_EVENTS_BYTES_MAX / workers;
  }

  get bytes(): number {
    return this.#bytes;
  }

  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#bytesMax) return false;
    this.#bytes += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }
}
