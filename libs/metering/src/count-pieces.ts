import { O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';
import { MergeHeap } from './merge-heap.ts';
import { NO_RANK, readO200k, TOKEN_BYTES_MAX } from './token-table.ts';

/** Every character belongs to a piece, so each piece begins where the previous one ends. */
const PIECE = new RegExp(O200K_TOKEN_SPLIT_REGEX.source, 'gu');
const TABLE = readO200k();
const UTF8_BYTES_MAX = 3;
const UTF8 = new TextEncoder();
const LINE_END = /[\r\n]/;
/** This many characters after a piece may still belong to it: a contraction has three, a letter with its mark more. */
const LOOK_AHEAD_CHARS = 16;
const ASCII_MAX = 0x7f;
const TWO_BYTES_MAX = 0x7ff;
const THREE_BYTES_MAX = 0xffff;

/** Memory up to this size is kept for the next piece, because longer pieces are rare. */
const KEPT_BYTES_MAX = 64 * 1_024;
/** Holds the bytes of the current piece. Nothing of it outlives a call. */
let bytes = new Uint8Array(1_024);
/** Maps the start of a part to the start of the next one; the last part maps to the length. */
let next = new Uint32Array(bytes.length);
let previous = new Int32Array(bytes.length);
/** Holds the rank of the part that begins here, joined with the next one. */
let ranks = new Uint32Array(bytes.length);
let heap = new MergeHeap();

/** Counts the tokens (o200k) of a text. A piece of n bytes takes n log n. */
export function countTokens(text: string): number {
  let tokens = 0;
  PIECE.lastIndex = 0;
  for (let start = 0; PIECE.test(text); start = PIECE.lastIndex)
    tokens += countPiece(encode(text, start, PIECE.lastIndex));
  return tokens;
}

/**
 * Finds a position about `charsMax` characters (UTF-16) from the beginning, after which the text can be counted separately, and the tokens before it.
 * It is the start of a piece, or lies between two tokens of a piece without an end yet, each of which joins only its own bytes.
 */
export function countWithin(text: string, charsMax: number): { tokens: number; chars: number } {
  let tokens = 0;
  let start = 0;
  PIECE.lastIndex = 0;
  for (; PIECE.test(text) && PIECE.lastIndex <= charsMax; start = PIECE.lastIndex)
    tokens += countPiece(encode(text, start, PIECE.lastIndex));
  if (start > 0) return { tokens, chars: start };
  const end = PIECE.lastIndex;
  const isWhole = end + LOOK_AHEAD_CHARS <= text.length;
  return isWhole
    ? { tokens: countPiece(encode(text, 0, end)), chars: end }
    : countWithinPiece(text, { end, charsMax });
}

/** All tokens begin and end inside characters, so the position is between two characters, and the token across it counts with what follows. */
function countWithinPiece(
  text: string,
  { end, charsMax }: { end: number; charsMax: number },
): { tokens: number; chars: number } {
  const length = encode(text, 0, end);
  merge(length);
  let [between, anywhere] = [NOWHERE, NOWHERE];
  let [tokens, chars, charBytes] = [0, 0, 0];
  for (let part = 0; part < length; part = next[part] as number) {
    while (charBytes < part) {
      const code = text.codePointAt(chars) as number;
      charBytes += utf8Bytes(code);
      chars += code > THREE_BYTES_MAX ? 2 : 1;
    }
    if (chars > charsMax) break;
    anywhere = { tokens, chars };
    // A sign takes the following line ends into its piece.
    if (charBytes === part && !LINE_END.test(text.charAt(chars))) between = anywhere;
    tokens += 1;
  }
  return between.chars >= charsMax / 2 ? between : anywhere;
}

const NOWHERE = { tokens: 0, chars: 0 };

function countPiece(length: number): number {
  return isToken(length) ? 1 : merge(length);
}

function isToken(length: number): boolean {
  return length <= TOKEN_BYTES_MAX && TABLE.rankOf(bytes, 0, length) !== NO_RANK;
}

/** Encodes a part of the text as UTF-8 and returns the number of bytes. */
function encode(text: string, start: number, end: number): number {
  const bytesMax = (end - start) * UTF8_BYTES_MAX;
  if (bytesMax > bytes.length || bytes.length > KEPT_BYTES_MAX) makeRoom(bytesMax);
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if (code > ASCII_MAX) return UTF8.encodeInto(text.slice(start, end), bytes).written;
    bytes[at - start] = code;
  }
  return end - start;
}

/** Returns the number of UTF-8 bytes of a UTF-16 unit; a lone surrogate becomes U+FFFD, in three bytes. */
function utf8Bytes(code: number): number {
  if (code <= ASCII_MAX) return 1;
  if (code <= TWO_BYTES_MAX) return 2;
  return code <= THREE_BYTES_MAX ? 3 : 4;
}

function makeRoom(bytesMax: number): void {
  heap = new MergeHeap();
  bytes = new Uint8Array(bytesMax);
  next = new Uint32Array(bytesMax);
  previous = new Int32Array(bytesMax);
  ranks = new Uint32Array(bytesMax);
}

/**
 * Joins the two neighbours with the lowest rank until no two are a token: byte pair encoding. Each byte is a token. Returns the number of parts left
 * in `next`.
 */
function merge(length: number): number {
  heap.clear();
  for (let part = 0; part < length; part += 1) {
    next[part] = part + 1;
    previous[part] = part - 1;
  }
  for (let part = 0; part < length; part += 1) rank(part, length);
  let parts = length;
  while (heap.take()) {
    const part = heap.position;
    // One of the two has been joined with another part since.
    if (ranks[part] !== heap.rank) continue;
    const joined = next[part] as number;
    const after = next[joined] as number;
    next[part] = after;
    if (after < length) previous[after] = part;
    ranks[joined] = NO_RANK;
    parts -= 1;
    rank(part, length);
    if (part > 0) rank(previous[part] as number, length);
  }
  return parts;
}

function rank(part: number, length: number): void {
  const second = next[part] as number;
  const end = second < length ? (next[second] as number) : Number.POSITIVE_INFINITY;
  const found = end - part <= TOKEN_BYTES_MAX ? TABLE.rankOf(bytes, part, end) : NO_RANK;
  ranks[part] = found;
  if (found !== NO_RANK) heap.push(found, part);
}
