interface Line {
  text: string;
  isLive: boolean;
}

/** Holds journal lines that are not written yet, in order. */
export class WaitingLines {
  #lines: Line[] = [];

  get count(): number {
    return this.#lines.length;
  }

  get hasLive(): boolean {
    return this.#lines.some(({ isLive }) => isLive);
  }

  get bytes(): number {
    return this.#lines.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  }

  add(line: Line): void {
    this.#lines.push(line);
  }

  /** Passes all lines to `write`. They continue to wait when it throws. */
  writeAll(write: (bytes: Buffer) => void): void {
    write(toBytes(this.#lines));
    this.#lines = [];
  }

  /** Writes, as `writeAll` does, the live lines that fit: admissions and finals, without which a request is lost. */
  writeLive(room: number, write: (bytes: Buffer) => void): void {
    let left = room;
    const chosen: Line[] = [];
    const others: Line[] = [];
    for (const line of this.#lines) {
      const bytes = Buffer.byteLength(line.text);
      const isChosen = line.isLive && bytes <= left;
      if (isChosen) left -= bytes;
      (isChosen ? chosen : others).push(line);
    }
    write(toBytes(chosen));
    this.#lines = others;
  }
}

function toBytes(lines: readonly Line[]): Buffer {
  return Buffer.from(lines.map(({ text }) => text).join(''));
}
