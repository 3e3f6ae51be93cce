import { O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';
import { MergeHeap } from './merge-heap.ts';
import { NO_RANK, readO200k, TOKEN_BYTES_MAX } from './token-table.ts';

/** Every character belongs to a piece, so each begins where the one before ends. */
const PIECE = new RegExp(O200K_TOKEN_SPLIT_REGEX.source, 'gu');
const TABLE = readO200k();
const UTF8_BYTES_MAX = 3;
const UTF8 = new TextEncoder();
const LINE_END = /[\r\n]/;
const ASCII_MAX = 0x7f;
const TWO_BYTES_MAX = 0x7ff;
const THREE_BYTES_MAX = 0xffff;

/** Of the piece that is counted: nothing of it outlives a call. */
let bytes = new Uint8Array(1_024);
/** By the place where a part begins: where the next one does. The last one's is the length. */
let next = new Uint32Array(bytes.length);
let previous = new Int32Array(bytes.length);
/** Of the part that begins here joined with the next one. */
let ranks = new Uint32Array(bytes.length);
const heap = new MergeHeap();

/** Tokens (o200k) of a text. A piece of n bytes takes n log n. */
export function countTokens(text: string): number {
  let tokens = 0;
  PIECE.lastIndex = 0;
  for (let start = 0; PIECE.test(text); start = PIECE.lastIndex)
    tokens += countPiece(encode(text, start, PIECE.lastIndex));
  return tokens;
}

/**
 * A boundary between two tokens in the first `charsMax` characters (UTF-16) of a text, and the tokens before it. Text before and behind a boundary has the
 * same tokens apart. Only line ends that follow a sign would begin another piece there: none stands behind the boundary where there is another one.
 */
export function countWithin(text: string, charsMax: number): { tokens: number; chars: number } {
  let tokens = 0;
  let start = 0;
  PIECE.lastIndex = 0;
  for (; PIECE.test(text) && PIECE.lastIndex <= charsMax; start = PIECE.lastIndex)
    tokens += countPiece(encode(text, start, PIECE.lastIndex));
  const end = PIECE.lastIndex;
  if (end <= charsMax) return { tokens, chars: start };
  const inPiece = partsWithin(text, { start, end, charsMax });
  return { tokens: tokens + inPiece.tokens, chars: inPiece.chars };
}

function partsWithin(
  text: string,
  { start, end, charsMax }: { start: number; end: number; charsMax: number },
): { tokens: number; chars: number } {
  const length = encode(text, start, end);
  if (isToken(length)) return { tokens: 0, chars: start };
  merge(length);
  const none = { tokens: 0, chars: start };
  let [last, lastInText] = [none, none];
  let chars = start;
  let charBytes = 0;
  let tokens = 0;
  for (let part = 0; part < length;) {
    part = next[part] as number;
    tokens += 1;
    while (charBytes < part) {
      const code = text.codePointAt(chars) as number;
      charBytes += utf8Bytes(code);
      chars += code > THREE_BYTES_MAX ? 2 : 1;
    }
    if (chars > charsMax) break;
    if (charBytes !== part) continue;
    last = { tokens, chars };
    if (!LINE_END.test(text.charAt(chars))) lastInText = last;
  }
  return lastInText === none ? last : lastInText;
}

function countPiece(length: number): number {
  return isToken(length) ? 1 : merge(length);
}

function isToken(length: number): boolean {
  return length <= TOKEN_BYTES_MAX && TABLE.rankOf(bytes, 0, length) !== NO_RANK;
}

/** Answers how many bytes there are. */
function encode(text: string, start: number, end: number): number {
  const bytesMax = (end - start) * UTF8_BYTES_MAX;
  if (bytesMax > bytes.length) grow(bytesMax);
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if (code > ASCII_MAX) return UTF8.encodeInto(text.slice(start, end), bytes).written;
    bytes[at - start] = code;
  }
  return end - start;
}

/** Half of a pair alone is written as U+FFFD, in three bytes. */
function utf8Bytes(code: number): number {
  if (code <= ASCII_MAX) return 1;
  if (code <= TWO_BYTES_MAX) return 2;
  return code <= THREE_BYTES_MAX ? 3 : 4;
}

function grow(bytesMax: number): void {
  bytes = new Uint8Array(bytesMax);
  next = new Uint32Array(bytesMax);
  previous = new Int32Array(bytesMax);
  ranks = new Uint32Array(bytesMax);
}

/** Joins the two neighbours with the lowest rank until no two are a token: byte pair encoding. Answers how many parts are left in `next`; each byte is a token. */
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
    // One of the two has been joined with another since.
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
