import { decodeString, skipString } from './json-string.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Objects with more names keep them in a set: comparing each with each would let a body of names alone block the process. */
const COMPARED_MAX = 32;
/** No ordinary body nests objects deeper. */
const SHARED_DEPTH = 32;

/**
 * The first name that stands twice in one object, at any depth, compared unescaped; null when there is none. Parsers disagree on which of the
 * two counts, so what was judged might not be what the upstream reads. The text must already have passed JSON.parse.
 */
export function duplicateName(bytes: Uint8Array): string | null {
  const scopes: (Names | null)[] = [];
  let scope: Names | null = null;
  let isName = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      const end = skipString(bytes, at);
      if (isName && scope?.isTaken(bytes, at, end)) return decodeString(bytes, at, end);
      isName = false;
      at = end - 1;
    } else if (byte === COMMA) isName = scope !== null;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      scopes.push(scope);
      scope = byte === OPEN_BRACE ? namesAt(scopes.length) : null;
      isName = scope !== null;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      scope?.clear();
      scope = scopes.pop() ?? null;
    }
  }
  return null;
}

/** The names of one object so far. */
class Names {
  readonly #hashes: number[] = [];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  #count = 0;
  #set: Set<string> | null = null;

  clear(): void {
    this.#count = 0;
    this.#set = null;
  }

  /** Adds the name between the quotes at `start` and before `end`. */
  isTaken(bytes: Uint8Array, start: number, end: number): boolean {
    if (this.#set) return this.#isInSet(this.#set, decodeString(bytes, start, end));
    const hash = hashOf(bytes, start, end);
    for (let at = 0; at < this.#count; at += 1)
      if (this.#hashes[at] === hash && this.#nameAt(bytes, at) === decodeString(bytes, start, end))
        return true;
    this.#hashes[this.#count] = hash;
    this.#starts[this.#count] = start;
    this.#ends[this.#count] = end;
    this.#count += 1;
    if (this.#count === COMPARED_MAX)
      this.#set = new Set(this.#hashes.map((_, at) => this.#nameAt(bytes, at)));
    return false;
  }

  #isInSet(set: Set<string>, name: string): boolean {
    if (set.has(name)) return true;
    set.add(name);
    return false;
  }

  #nameAt(bytes: Uint8Array, at: number): string {
    return decodeString(bytes, this.#starts[at] ?? 0, this.#ends[at] ?? 0);
  }
}

/** Names of objects by their depth, for the next body: an object is closed before another opens at its depth. A deeper one has its own. */
const shared: Names[] = Array.from({ length: SHARED_DEPTH }, () => new Names());

function namesAt(depth: number): Names {
  const names = shared[depth - 1];
  if (!names) return new Names();
  names.clear();
  return names;
}

/** https://www.ietf.org/archive/id/draft-eastlake-fnv-17.html */
const FNV_BASIS = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** FNV-1a over the unescaped name; equal names have equal hashes however they are escaped. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = FNV_BASIS;
  for (let at = start + 1; at < end - 1; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === BACKSLASH) return hashOfText(decodeString(bytes, start, end));
    hash = Math.imul(hash ^ byte, FNV_PRIME);
  }
  return hash;
}

function hashOfText(name: string): number {
  return Buffer.from(name).reduce((hash, byte) => Math.imul(hash ^ byte, FNV_PRIME), FNV_BASIS);
}
