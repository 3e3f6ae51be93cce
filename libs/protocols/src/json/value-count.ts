import { skipString } from './json-string.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/**
 * Returns whether JSON text holds more than about `max` values, counted without building one: a byte of text can become a hundred of memory, so a body
 * within its limit of bytes could still take the process down. A text of fewer bytes is not checked.
 */
export function hasTooManyValues(bytes: Uint8Array, max: number): boolean {
  if (bytes.length <= max) return false;
  let values = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) at = skipString(bytes, at) - 1;
    else if ((byte === COMMA || byte === OPEN_BRACE || byte === OPEN_BRACKET) && ++values > max)
      return true;
  }
  return false;
}
