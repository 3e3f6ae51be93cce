/** A preamble of at most this size may wait for the first content before it is passed on. */
const PREAMBLE_BYTES_MAX = 64 * 1024;

/** Keeps the beginning of a stream (role chunk, message_start) until the first content, so that an upstream which dies before it says anything can be replaced unseen. */
export class Preamble {
  #parts: Uint8Array[] = [];
  #bytes = 0;

  /** Keeps these bytes; returns false when the preamble would grow beyond its limit. */
  keep(bytes: Uint8Array): boolean {
    if (this.#bytes + bytes.byteLength > PREAMBLE_BYTES_MAX) return false;
    if (bytes.byteLength > 0) this.#parts.push(bytes);
    this.#bytes += bytes.byteLength;
    return true;
  }

  take(): Uint8Array[] {
    this.#bytes = 0;
    return this.#parts.splice(0);
  }
}
