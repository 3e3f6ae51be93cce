import type { JsonLayout, JsonMember } from './json-layout.ts';
import { decodeString, skipString } from './json-string.ts';
import { Names } from './names.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;
const NOWHERE = -1;

export interface ScanLimits {
  /** Limits the values in all; the scan ends behind them. */
  values: number;
  /** Limits the levels of arrays and objects. */
  depth: number;
  /** Limits the members of the object itself. */
  fields: number;
}

/**
 * Passes once over the bytes of a request body, before anything is built of it: a byte of text can become a hundred of memory. It counts values and depth, finds
 * the members of the object, and the first name that occurs twice in one object at any depth, as parsers disagree on which of the two counts: what was
 * judged might not be what the upstream reads. It judges no syntax; of a text that JSON.parse refuses it says nothing but the number of values.
 */
export class BodyScan {
  readonly #limits: ScanLimits;
  /** Holds one by depth: an object is closed before another opens beside it. */
  readonly #names: Names[] = [];
  readonly #scopes: (Names | null)[] = [];
  #raw: Uint8Array = NONE;
  #at = 0;
  #values = 0;
  #depth = 0;
  #duplicate: string | null = null;
  #scope: Names | null = null;
  #isName = false;
  /** Is true once a body is refused or is no JSON: its names are no longer compared. */
  #isBlind = false;
  #members: JsonMember[] = [];
  #open = NOWHERE;
  #close = NOWHERE;
  /** Hold the places of the member that is read. */
  #keyStart = NOWHERE;
  #keyEnd = NOWHERE;
  #valueStart = NOWHERE;
  /** Is the place behind the last byte that is not blank. */
  #tokenEnd = 0;

  constructor(limits: ScanLimits) {
    this.#limits = limits;
  }

  /** Begins with a text; what was found in another is forgotten. */
  begin(raw: Uint8Array): this {
    this.#raw = raw;
    this.#at = this.#values = this.#depth = this.#tokenEnd = 0;
    this.#duplicate = this.#scope = null;
    this.#isName = this.#isBlind = false;
    this.#members = [];
    this.#scopes.length = 0;
    this.#open = this.#close = this.#keyStart = this.#valueStart = NOWHERE;
    return this;
  }

  get hasTooManyValues(): boolean {
    return this.#values > this.#limits.values;
  }

  get isTooDeep(): boolean {
    return this.#depth > this.#limits.depth;
  }

  get hasTooManyFields(): boolean {
    return this.#members.length > this.#limits.fields;
  }

  get duplicate(): string | null {
    return this.#duplicate;
  }

  /** Is null when the text is no object. */
  get layout(): JsonLayout | null {
    if (this.#open === NOWHERE) return null;
    return { open: this.#open, close: this.#close, members: this.#members };
  }

  /** Reads so many bytes more, and to the end of the string they end in. Answers true at the end. */
  advance(bytes = Number.MAX_SAFE_INTEGER): boolean {
    const raw = this.#raw;
    const until = Math.min(raw.length, this.#at + bytes);
    let at = this.#at;
    while (at < until && this.#values <= this.#limits.values) {
      const byte = raw[at] as number;
      if (byte === QUOTE) at = this.#string(at);
      else if (byte === COMMA) this.#comma(at++);
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#opened(byte, at++);
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#closed(at++);
      else if (byte <= SPACE || byte === COLON) at += 1;
      else at = this.#scalar(at);
    }
    this.#at = at;
    return at >= raw.length || this.hasTooManyValues;
  }

  #scalar(start: number): number {
    const end = endOfScalar(this.#raw, start);
    this.#value(start, end);
    return end;
  }

  #string(start: number): number {
    const end = skipString(this.#raw, start);
    if (!this.#isName) this.#value(start, end);
    else if (!this.#isBlind) this.#name(start, end);
    this.#isName = false;
    return end;
  }

  #name(start: number, end: number): void {
    if (this.#scopes.length === 1) {
      this.#keyStart = start;
      this.#keyEnd = end;
    }
    try {
      if (this.#scope?.isTaken(this.#raw, start, end))
        this.#duplicate ??= decodeString(this.#raw, start, end);
    } catch {
      // The escape is wrong: JSON.parse reads no further than this either.
      this.#isBlind = true;
    }
  }

  #value(start: number, end: number): void {
    if (this.#scopes.length === 1 && this.#valueStart === NOWHERE) this.#valueStart = start;
    this.#tokenEnd = end;
  }

  #comma(at: number): void {
    this.#values += 1;
    if (this.#scopes.length === 1) this.#endMember();
    this.#tokenEnd = at + 1;
    this.#isName = this.#scope !== null;
  }

  #opened(byte: number, at: number): void {
    const scopes = this.#scopes;
    this.#values += 1;
    this.#value(at, at + 1);
    if (scopes.length === 0 && byte === OPEN_BRACE && this.#open === NOWHERE) this.#open = at;
    scopes.push(this.#scope);
    if (scopes.length > this.#depth) this.#depth = scopes.length;
    if (this.isTooDeep) this.#isBlind = true;
    this.#scope = byte === OPEN_BRACE && !this.#isBlind ? this.#namesAt(scopes.length) : null;
    this.#isName = this.#scope !== null;
  }

  #closed(at: number): void {
    if (this.#scopes.length === 1) {
      this.#endMember();
      this.#close = at;
    }
    this.#scope = this.#scopes.pop() ?? null;
    this.#tokenEnd = at + 1;
    this.#isName = false;
  }

  #endMember(): void {
    const [start, end] = [this.#keyStart, this.#valueStart];
    this.#keyStart = this.#valueStart = NOWHERE;
    if (start === NOWHERE || end === NOWHERE || this.#isBlind) return;
    const key = decodeString(this.#raw, start, this.#keyEnd);
    this.#members.push({ key, keyStart: start, valueStart: end, valueEnd: this.#tokenEnd });
    if (this.hasTooManyFields) this.#isBlind = true;
  }

  #namesAt(depth: number): Names {
    const names = (this.#names[depth - 1] ??= new Names());
    names.clear();
    return names;
  }
}

const NONE = new Uint8Array();

/** Returns the place of what follows a number or a word. */
function endOfScalar(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  for (; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte <= SPACE || byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET) break;
    if (byte === QUOTE || byte === COLON || byte === OPEN_BRACE || byte === OPEN_BRACKET) break;
  }
  return at;
}
