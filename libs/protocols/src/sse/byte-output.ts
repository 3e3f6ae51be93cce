/** Collects output bytes. Neighbouring slices of one chunk are joined by widening the slice, so a chunk that needs no change leaves as the very bytes that came. */
export class ByteOutput {
  private parts: Uint8Array[] = [];

  add(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const last = this.parts.at(-1);
    if (
      last &&
      last.buffer === bytes.buffer &&
      last.byteOffset + last.byteLength === bytes.byteOffset
    ) {
      this.parts[this.parts.length - 1] = Buffer.from(
        bytes.buffer,
        last.byteOffset,
        last.byteLength + bytes.byteLength,
      );
    } else this.parts.push(bytes);
  }

  addText(text: string): void {
    this.parts.push(Buffer.from(text));
  }

  take(): Uint8Array {
    const [first = EMPTY] = this.parts;
    const { parts } = this;
    this.parts = [];
    if (parts.length < 2) return first;
    const whole = Buffer.allocUnsafe(parts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }
}

const EMPTY = new Uint8Array(0);
