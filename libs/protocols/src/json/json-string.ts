import { bufferOf } from './json-guard.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Names and short values end within this many bytes, where a loop finds their end sooner than a call. */
const SHORT_BYTES = 64;

/** `start` is at the opening quote. Returns the offset after the closing one, or the end of the text when there is none. */
export function skipString(bytes: Uint8Array, start: number): number {
  const near = Math.min(bytes.length, start + SHORT_BYTES);
  let at = start + 1;
  for (; at < near; at += 1) {
    const byte = bytes[at];
    if (byte === BACKSLASH) at += 1;
    else if (byte === QUOTE) return at + 1;
  }
  for (let quote = bytes.indexOf(QUOTE, at); quote >= 0; quote = bytes.indexOf(QUOTE, quote + 1))
    if (!isEscaped(bytes, at, quote)) return quote + 1;
  return bytes.length;
}

/** Returns true when an odd number of backslashes precedes `quote`; bytes before `from` have been read. */
export function isEscaped(bytes: Uint8Array, from: number, quote: number): boolean {
  let first = quote;
  while (first > from && bytes[first - 1] === BACKSLASH) first -= 1;
  return (quote - first) % 2 === 1;
}

/** Keeps short strings that were read last, each at a place that its length and its ends name: the names of members are few, and a call of Buffer takes longer than a look here. */
const KNOWN_MAX = 512;
const known: string[] = Array.from({ length: KNOWN_MAX }, () => '');

/** Returns the unescaped string between two quotes. `end` is after the closing one. */
export function decodeString(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start - 2;
  if (length < 1 || length > SHORT_BYTES) return decodedAnew(bytes, start, end);
  const place = (31 * (bytes[start + 1] ?? 0) + 7 * (bytes[end - 2] ?? 0) + length) % KNOWN_MAX;
  const last = known[place] as string;
  if (isText(bytes, start + 1, length, last)) return last;
  const text = decodedAnew(bytes, start, end);
  // Escapes and wide characters are shorter than their bytes.
  if (text.length === length) known[place] = text;
  return text;
}

function isText(bytes: Uint8Array, start: number, length: number, text: string): boolean {
  if (text.length !== length) return false;
  for (let at = 0; at < length; at += 1)
    if (bytes[start + at] !== text.charCodeAt(at)) return false;
  return true;
}

function decodedAnew(bytes: Uint8Array, start: number, end: number): string {
  const text = bufferOf(bytes).toString('utf8', start + 1, end - 1);
  if (!text.includes('\\')) return text;
  const decoded: unknown = JSON.parse(`"${text}"`);
  return String(decoded);
}
