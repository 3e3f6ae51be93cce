import { isEscaped, skipString } from './json-string.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const LETTER_U = 0x75;
const CLOSE_BRACKET = 0x5d;
const CLOSE_BRACE = 0x7d;
const CLOSERS: ReadonlyMap<unknown, number> = new Map([
  [0x5b, CLOSE_BRACKET],
  [0x7b, CLOSE_BRACE],
]);

/**
 * Completes the beginning of a JSON text that was cut anywhere: it closes what is open, keeps the arrived part of a text, and removes a name without
 * a value and a number at the end. A text that was not JSON stays invalid.
 */
export function closedJson(bytes: Buffer): Buffer {
  const open: number[] = [];
  // The text can be cut here; `open` then has its current value.
  let end = 0;
  let isName = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    const closer = CLOSERS.get(byte);
    if (byte === QUOTE) {
      const after = skipString(bytes, at);
      if (!isName && !isClosed(bytes, at, after))
        return closed(bytes.subarray(0, endOfText(bytes, at)), [...open, QUOTE]);
      at = after - 1;
      if (!isName) end = after;
    } else if (byte === COLON) isName = false;
    else if (byte === COMMA) {
      end = at;
      isName = open.at(-1) === CLOSE_BRACE;
    } else if (closer !== undefined) {
      open.push(closer);
      end = at + 1;
      isName = closer === CLOSE_BRACE;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      open.pop();
      end = at + 1;
    }
  }
  return closed(bytes.subarray(0, end), open);
}

/** `after` is where `skipString` ended. */
function isClosed(bytes: Buffer, start: number, after: number): boolean {
  return after - 1 > start && bytes[after - 1] === QUOTE && !isEscaped(bytes, start + 1, after - 1);
}

/** Returns the position before an incomplete escape. */
function endOfText(bytes: Buffer, start: number): number {
  const escape = bytes.lastIndexOf(BACKSLASH);
  if (escape <= start || isEscaped(bytes, start + 1, escape)) return bytes.length;
  const length = bytes[escape + 1] === LETTER_U ? 6 : 2;
  return escape + length > bytes.length ? escape : bytes.length;
}

function closed(bytes: Buffer, open: readonly number[]): Buffer {
  return Buffer.concat([bytes, Buffer.from(open.toReversed())]);
}
