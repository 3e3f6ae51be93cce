import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** Is the length of o200k's longest token, 128 blanks. */
export const TOKEN_BYTES_MAX = 128;
/** Is greater than every rank. */
export const NO_RANK = 2 ** 30;
const TOKENS_MAX = 200_000;
const BYTES_MAX = 8 * TOKENS_MAX;
/** Is a power of two and more than twice the number of tokens: a search takes 1.3 probes on average. */
const SLOTS = 2 ** 19;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const SEXTETS = Uint8Array.from({ length: 256 }, (_, code) =>
  Math.max(0, ALPHABET.indexOf(String.fromCharCode(code))),
);
const SPACE = 0x20;
const LINE_END = 0x0a;
const PADDING = 0x3d;

interface Tokens {
  /** Holds the bytes of all tokens, one after another, by rank. */
  readonly bytes: Uint8Array;
  /** Holds the start of each token, then the end of the last one. */
  readonly starts: Uint32Array;
  readonly size: number;
}

/**
 * Maps token bytes to ranks in three blocks of memory. The arrays and Maps of strings of the tokenizer's package take ten times the memory and three
 * times as long to load.
 */
export class TokenTable {
  readonly #tokens: Tokens;
  /** Holds each token's rank plus one in the slot of its hash or the next free one; 0 is free. */
  readonly #slots: Uint32Array;

  /** `text` has a line for each token: its bytes in base64 and its rank. Ranks rise from 0 without gaps. */
  constructor(text: Uint8Array) {
    this.#tokens = readTokens(text);
    this.#slots = slotsOf(this.#tokens);
  }

  get size(): number {
    return this.#tokens.size;
  }

  /** Returns the rank of the token with exactly the bytes of `piece` from `start` to `end`; NO_RANK when there is none. */
  rankOf(piece: Uint8Array, start: number, end: number): number {
    const slots = this.#slots;
    for (let slot = firstSlot(piece, start, end); ; slot = (slot + 1) % SLOTS) {
      const rank = (slots[slot] as number) - 1;
      if (rank < 0) return NO_RANK;
      if (isToken(this.#tokens, rank, piece, start, end)) return rank;
    }
  }
}

/** Reads OpenAI's file, which the tokenizer's package contains. */
export function readO200k(): TokenTable {
  const { resolve } = createRequire(import.meta.url);
  return new TokenTable(readFileSync(resolve('gpt-tokenizer/data/o200k_base.tiktoken')));
}

/** One loop over local variables reads the table: it runs once, before V8 optimises anything. */
function readTokens(text: Uint8Array): Tokens {
  const bytes = new Uint8Array(BYTES_MAX);
  const starts = new Uint32Array(TOKENS_MAX + 1);
  let size = 0;
  let end = 0;
  for (let at = 0; at < text.length; at += 1) {
    // Four letters are three bytes, less those for padding: https://www.rfc-editor.org/rfc/rfc4648#section-4
    for (; at < text.length && text[at] !== SPACE; at += 4) {
      const third = text[at + 2] as number;
      const fourth = text[at + 3] as number;
      const high = (sextet(text[at]) << 18) | (sextet(text[at + 1]) << 12);
      const bits = high | (sextet(third) << 6) | sextet(fourth);
      bytes[end] = bits >> 16;
      bytes[end + 1] = bits >> 8;
      bytes[end + 2] = bits;
      end += 3 - (third === PADDING ? 1 : 0) - (fourth === PADDING ? 1 : 0);
    }
    size += 1;
    starts[size] = end;
    while (at < text.length && text[at] !== LINE_END) at += 1;
  }
  return { bytes, starts, size };
}

function sextet(letter: number | undefined): number {
  return SEXTETS[letter as number] as number;
}

function slotsOf({ bytes, starts, size }: Tokens): Uint32Array {
  const slots = new Uint32Array(SLOTS);
  for (let rank = 0; rank < size; rank += 1) {
    let slot = firstSlot(bytes, starts[rank] as number, starts[rank + 1] as number);
    while (slots[slot] !== 0) slot = (slot + 1) % SLOTS;
    slots[slot] = rank + 1;
  }
  return slots;
}

/** Computes FNV-1a (https://www.rfc-editor.org/rfc/rfc9923), folded to the table's size. */
function firstSlot(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at += 1)
    hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  return (hash ^ (hash >>> 15)) & (SLOTS - 1);
}

function isToken(
  { bytes, starts }: Tokens,
  rank: number,
  piece: Uint8Array,
  start: number,
  end: number,
): boolean {
  const offset = (starts[rank] as number) - start;
  if (offset + end !== starts[rank + 1]) return false;
  for (let at = start; at < end; at += 1) if (bytes[at + offset] !== piece[at]) return false;
  return true;
}
