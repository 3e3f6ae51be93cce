const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;

/** Names the part of a chunked body that comes next (RFC 9112 7.1). */
type Part = 'size' | 'end of size line' | 'data' | 'CR after data' | 'LF after data' | 'over';

/**
 * Follows the chunk-size lines through the raw bytes of a body, however reads split it, up to the last chunk. It accepts at least everything that
 * Node's parser accepts, which refuses other malformed bodies itself.
 */
export class ChunkLines {
  #part: Part = 'size';
  #size = 0;
  #digits = 0;

  /** Is true when nothing is left to check: the last chunk was reached, or the bytes are not a chunked body. */
  get isOver(): boolean {
    return this.#part === 'over';
  }

  /** Reads on from `start` and returns the index of the first chunk extension in these bytes; -1 when there is none. */
  findExtension(bytes: Uint8Array, start = 0): number {
    let at = start;
    while (at < bytes.length && !this.isOver) {
      if (this.#part === 'data') {
        at += this.#skip(bytes.length - at);
        continue;
      }
      const byte = bytes[at] as number;
      if (this.#part === 'size' && byte === SEMICOLON && this.#digits > 0) return at;
      this.#part = this.#after(byte);
      at += 1;
    }
    return -1;
  }

  #skip(available: number): number {
    const skipped = Math.min(this.#size, available);
    this.#size -= skipped;
    if (this.#size === 0) this.#part = 'CR after data';
    return skipped;
  }

  #after(byte: number): Part {
    if (this.#part === 'size') return this.#afterSizeByte(byte);
    if (this.#part === 'CR after data') return byte === CR ? 'LF after data' : 'over';
    if (byte !== LF) return 'over';
    if (this.#part === 'end of size line') return this.#size > 0 ? 'data' : 'over';
    this.#size = 0;
    this.#digits = 0;
    return 'size';
  }

  #afterSizeByte(byte: number): Part {
    const digit = hexDigit(byte);
    if (digit === undefined) return byte === CR && this.#digits > 0 ? 'end of size line' : 'over';
    this.#size = this.#size * 16 + digit;
    this.#digits += 1;
    return 'size';
  }
}

function hexDigit(byte: number): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : undefined;
}
