import { decodeString, skipString } from './json-string.ts';

/**
 * Holds the byte ranges of a JSON object's own members, found without building values, so that one value can be replaced while every other byte
 * stays: integers of 2^53+1, key order, escapes and signatures survive (docs/translation.md#same-protocol-what-may-change). The input must have
 * passed JSON.parse; these scanners do not validate.
 */
export interface JsonMember {
  /** Is the decoded key. */
  readonly key: string;
  readonly keyStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

export interface JsonLayout {
  /** Is the offset of `{`. */
  readonly open: number;
  /** Is the offset of `}`. */
  readonly close: number;
  readonly members: readonly JsonMember[];
}

export interface JsonRange {
  readonly start: number;
  readonly end: number;
}

const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;

/** Returns the layout of the object whose `{` is the first non-blank byte at or after `start`; null when it is not an object. */
export function layoutObject(bytes: Uint8Array, start = 0): JsonLayout | null {
  const open = skipBlank(bytes, start);
  if (bytes[open] !== OPEN_BRACE) return null;
  const members: JsonMember[] = [];
  let at = skipBlank(bytes, open + 1);
  while (at < bytes.length && bytes[at] !== CLOSE_BRACE) {
    const keyStart = at;
    const keyEnd = skipString(bytes, keyStart);
    const valueStart = skipBlank(bytes, skipByte(bytes, skipBlank(bytes, keyEnd), COLON));
    const valueEnd = skipValue(bytes, valueStart);
    members.push({ key: decodeString(bytes, keyStart, keyEnd), keyStart, valueStart, valueEnd });
    at = skipBlank(bytes, skipByte(bytes, skipBlank(bytes, valueEnd), COMMA));
  }
  return { open, close: at, members };
}

/** Returns the ranges of the elements of the array that starts at `start`; an empty list when it is not an array. */
export function layoutArray(bytes: Uint8Array, start: number): JsonRange[] {
  const open = skipBlank(bytes, start);
  const elements: JsonRange[] = [];
  if (bytes[open] !== OPEN_BRACKET) return elements;
  let at = skipBlank(bytes, open + 1);
  while (at < bytes.length && bytes[at] !== CLOSE_BRACKET) {
    const end = skipValue(bytes, at);
    elements.push({ start: at, end });
    at = skipBlank(bytes, skipByte(bytes, skipBlank(bytes, end), COMMA));
  }
  return elements;
}

export function findMember(layout: JsonLayout, key: string): JsonMember | undefined {
  for (const member of layout.members) if (member.key === key) return member;
  return undefined;
}

function skipBlank(bytes: Uint8Array, start: number): number {
  let at = start;
  for (;;) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at += 1;
  }
}

function skipByte(bytes: Uint8Array, at: number, byte: number): number {
  return bytes[at] === byte ? at + 1 : at;
}

function skipValue(bytes: Uint8Array, start: number): number {
  const first = bytes[start];
  if (first === QUOTE) return skipString(bytes, start);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return skipNested(bytes, start);
  let at = start;
  while (at < bytes.length && !endsScalar(bytes[at])) at += 1;
  return at;
}

function skipNested(bytes: Uint8Array, start: number): number {
  let depth = 0;
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) at = skipString(bytes, at) - 1;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return bytes.length;
}

function endsScalar(byte: number | undefined): boolean {
  return (
    byte === COMMA ||
    byte === CLOSE_BRACE ||
    byte === CLOSE_BRACKET ||
    byte === 0x20 ||
    byte === 0x0a ||
    byte === 0x0d ||
    byte === 0x09
  );
}
