import { decodeString } from './json-string.ts';

const BACKSLASH = 0x5c;

/** Objects with more names keep them in a set: comparing each with each would let a body of many names block the process. */
const COMPARED_MAX = 32;

/** Holds the names of one object so far. */
export class Names {
  readonly #hashes: number[] = [];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  #count = 0;
  #set: Set<string> | null = null;

  clear(): void {
    this.#count = 0;
    this.#set = null;
  }

  /** Adds the name between the quotes at `start` and before `end`; returns true when the object has it already. Names are compared unescaped. */
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

/** See https://www.ietf.org/archive/id/draft-eastlake-fnv-17.html. */
const FNV_BASIS = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** Computes FNV-1a over the unescaped name, so that equal names have equal hashes whatever their escapes. */
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
