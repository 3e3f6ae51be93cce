interface Line {
  /** Is the offset behind the last byte of the line. */
  readonly end: number;
  readonly isLive: boolean;
}

/** Is room for the lines of many turns of a busy node. */
const BLOCK_BYTES = 64 * 1024;
/** UTF-8 needs at most so many bytes for a unit of a string's length. */
const BYTES_OF_UNIT = 3;

/** Holds journal lines that are not written yet, in order: as bytes in one block, which are encoded once. */
export class WaitingLines {
  #block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  #bytes = 0;
  #lines: Line[] = [];

  get count(): number {
    return this.#lines.length;
  }

  get hasLive(): boolean {
    return this.#lines.some(({ isLive }) => isLive);
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(text: string, isLive: boolean): void {
    const most = this.#bytes + text.length * BYTES_OF_UNIT;
    if (most > this.#block.length) {
      const larger = Buffer.allocUnsafeSlow(2 * most);
      this.#block.copy(larger, 0, 0, this.#bytes);
      this.#block = larger;
    }
    this.#bytes += this.#block.write(text, this.#bytes);
    this.#lines.push({ end: this.#bytes, isLive });
  }

  /** Passes all lines to `write`, which must not keep the bytes. They continue to wait when it throws. */
  writeAll(write: (bytes: Buffer) => void): void {
    write(this.#block.subarray(0, this.#bytes));
    this.#lines = [];
    this.#bytes = 0;
    if (this.#block.length > BLOCK_BYTES) this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  }

  /** Writes, as `writeAll` does, the live lines that fit: admissions and finals, without which a request is lost. */
  writeLive(room: number, write: (bytes: Buffer) => void): void {
    let left = room;
    let start = 0;
    const chosen: Buffer[] = [];
    const others: { bytes: Buffer; isLive: boolean }[] = [];
    for (const { end, isLive } of this.#lines) {
      const bytes = this.#block.subarray(start, end);
      start = end;
      if (isLive && bytes.length <= left) {
        left -= bytes.length;
        chosen.push(bytes);
      } else others.push({ bytes, isLive });
    }
    write(Buffer.concat(chosen));
    this.#bytes = 0;
    this.#lines = others.map(({ bytes, isLive }) => {
      this.#bytes += bytes.copy(this.#block, this.#bytes);
      return { end: this.#bytes, isLive };
    });
  }
}
