import type { TokenUsage } from '@tollgate/contracts';
import type { HoldHandle } from '../usage/books.ts';

/** So much of an upstream's bytes is read at a time once a hold is nearly used up: an event or two. */
const PIECE_BYTES = 512;
const STEP_DECAY = 0.9;

/**
 * How much of a stream its hold still covers. A byte of text is at most one token, so while the bytes generated since the last look are fewer than
 * the tokens that were left then, nothing has to be counted: a chunk costs a subtraction. A larger chunk is taken in pieces that fit. Near the end of
 * the hold they become small, and the stream stops one piece early rather than late.
 */
export class HoldRoom {
  readonly #hold: Pick<HoldHandle, 'room'>;
  /** Not below what would be charged if the stream ended now. */
  readonly #usage: () => TokenUsage;
  /** Bytes of text that certainly fit, and when to look again: at half of what the last look found. */
  #sureBytes = 0;
  #lookBelow = 1;
  /** Bytes of text the piece in hand has brought so far, and what pieces bring lately. */
  #broughtBytes = 0;
  #stepBytes = 1;

  constructor({ hold, usage }: { hold: Pick<HoldHandle, 'room'>; usage: () => TokenUsage }) {
    this.#hold = hold;
    this.#usage = usage;
  }

  generated(text: string): void {
    const bytes = Buffer.byteLength(text);
    this.#sureBytes -= bytes;
    this.#broughtBytes += bytes;
  }

  /** How many of the next `bytes` from upstream may be read now; 0 when the hold is used up. */
  take(bytes: number): number {
    if (this.#broughtBytes > 0) this.#stepBytes = Math.max(this.#broughtBytes, Math.floor(this.#stepBytes * STEP_DECAY));
    this.#broughtBytes = 0;
    if (this.#covers(bytes)) return bytes;
    if (this.#sureBytes < Math.max(this.#lookBelow, this.#stepBytes)) this.#look();
    if (this.#covers(bytes)) return bytes;
    return this.#sureBytes < this.#stepBytes ? 0 : Math.max(PIECE_BYTES, this.#sureBytes);
  }

  #look(): void {
    this.#sureBytes = this.#hold.room(this.#usage());
    this.#lookBelow = this.#sureBytes / 2;
  }

  #covers(bytes: number): boolean {
    return bytes <= this.#sureBytes || (bytes <= PIECE_BYTES && this.#stepBytes <= this.#sureBytes);
  }
}
