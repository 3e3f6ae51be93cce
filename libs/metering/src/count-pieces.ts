import { O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';
import { NO_RANK, readO200k } from './token-table.ts';

/** Every character belongs to a piece, so each begins where the one before ends. */
const PIECE = new RegExp(O200K_TOKEN_SPLIT_REGEX.source, 'gu');
const TABLE = readO200k();
const UTF8_BYTES_MAX = 3;
const UTF8 = new TextEncoder();
const ASCII_MAX = 0x7f;

/** Of the piece that is counted: nothing of it outlives a call. */
let bytes = new Uint8Array(1_024);
/** Where each of its parts starts, and where the last one ends. */
let starts = new Uint32Array(bytes.length + 1);
/** Of each part joined with the next one. */
let ranks = new Uint32Array(bytes.length);

/** Tokens (o200k) of a text. Quadratic in the length of a piece: runs must be cut before. */
export function countPieces(text: string): number {
  let tokens = 0;
  PIECE.lastIndex = 0;
  for (let start = 0; PIECE.test(text); start = PIECE.lastIndex)
    tokens += countPiece(text, start, PIECE.lastIndex);
  return tokens;
}

function countPiece(text: string, start: number, end: number): number {
  const length = encode(text, start, end);
  return TABLE.rankOf(bytes, 0, length) === NO_RANK ? countMerged(length) : 1;
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

function grow(bytesMax: number): void {
  bytes = new Uint8Array(bytesMax);
  starts = new Uint32Array(bytesMax + 1);
  ranks = new Uint32Array(bytesMax);
}

/** Joins the two neighbours with the lowest rank until no two are a token: byte pair encoding. Answers how many parts are left; each byte is a token. */
function countMerged(length: number): number {
  for (let part = 0; part <= length; part += 1) starts[part] = part;
  for (let part = 0; part < length - 1; part += 1) rank(part);
  let parts = length;
  for (let part = lowest(parts); part >= 0; part = lowest(parts)) {
    starts.copyWithin(part + 1, part + 2, parts + 1);
    ranks.copyWithin(part, part + 1, parts - 1);
    parts -= 1;
    if (part < parts - 1) rank(part);
    if (part > 0) rank(part - 1);
  }
  return parts;
}

function rank(part: number): void {
  ranks[part] = TABLE.rankOf(bytes, starts[part] as number, starts[part + 2] as number);
}

/** Which part is to be joined with the next one; -1 when none can be. */
function lowest(parts: number): number {
  let found = -1;
  let least = NO_RANK;
  for (let part = 0; part < parts - 1; part += 1) {
    const own = ranks[part] as number;
    if (own >= least) continue;
    least = own;
    found = part;
  }
  return found;
}
