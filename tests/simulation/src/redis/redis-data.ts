/** Is a stream: its entries in order, and the id given last. */
interface Stream {
  entries: { id: string; fields: readonly string[] }[];
  lastMs: number;
  lastNumber: number;
}
export type Value = string | Map<string, string> | Map<string, number> | Set<string> | Stream;
interface Entry {
  kind: 'string' | 'hash' | 'zset' | 'set' | 'stream';
  value: Value;
  expiresAtMs: number;
}

/** Holds each key that a call wrote, with its entry before. */
export type Changes = Map<string, Entry | undefined>;

export class RedisError extends Error {}

/** Holds the keys of a Redis, by their types. It remembers of each call what undoes it. */
export class RedisData {
  #entries = new Map<string, Entry>();
  #undo: Changes = new Map();
  nowMs = 0;
  /** Is called with each key that is removed because its time is over. */
  onExpired: (key: string, expiresAtMs: number) => void = () => undefined;

  /** Returns the changes of the calls since it was last asked, to be undone. */
  takeUndo(): Changes {
    const undo = this.#undo;
    this.#undo = new Map();
    return undo;
  }

  undo(changes: Changes): void {
    for (const [key, entry] of changes)
      if (entry) this.#entries.set(key, entry);
      else this.#entries.delete(key);
  }

  /** Takes all that is there; nothing is there afterwards. */
  takeAll(): Map<string, Entry> {
    const all = this.#entries;
    this.#entries = new Map();
    return all;
  }

  replaceAll(entries: ReadonlyMap<string, Entry>): void {
    // A structured clone would make the maps of another realm, which are no Map here.
    const copied = [...entries].map(([key, entry]): [string, Entry] => {
      return [key, { ...entry, value: copy(entry.value) }];
    });
    this.#entries = new Map(copied);
  }

  /** Removes expired keys, as Redis does in the background. */
  expire(): void {
    for (const key of this.#entries.keys()) this.#live(key);
  }

  keysLike(prefix: string): string[] {
    return [...this.#entries.keys()].filter((key) => key.startsWith(prefix) && this.#live(key));
  }

  valueOf(key: string): Value | undefined {
    return this.#live(key)?.value;
  }

  string(key: string): string | null {
    return (this.#read(key, 'string') as string | undefined) ?? null;
  }

  /** Returns null also where the value is none, as MGET answers. */
  stringOrNull(key: string): string | null {
    const value = this.#live(key)?.value;
    return typeof value === 'string' ? value : null;
  }

  setString(key: string, value: string, expiresAtMs = Infinity): void {
    this.#note(key);
    this.#entries.set(key, { kind: 'string', value, expiresAtMs });
  }

  hash(key: string): ReadonlyMap<string, string> | undefined {
    return this.#read(key, 'hash') as Map<string, string> | undefined;
  }

  changeHash(key: string): Map<string, string> {
    return this.#change(key, 'hash', () => new Map());
  }

  scores(key: string): ReadonlyMap<string, number> {
    return (this.#read(key, 'zset') as Map<string, number> | undefined) ?? NOTHING;
  }

  changeScores(key: string): Map<string, number> {
    return this.#change(key, 'zset', () => new Map());
  }

  members(key: string): ReadonlySet<string> | undefined {
    return this.#read(key, 'set') as Set<string> | undefined;
  }

  changeMembers(key: string): Set<string> {
    return this.#change(key, 'set', () => new Set());
  }

  stream(key: string): Readonly<Stream> | undefined {
    return this.#read(key, 'stream') as Stream | undefined;
  }

  changeStream(key: string): Stream {
    return this.#change(key, 'stream', () => ({ entries: [], lastMs: 0, lastNumber: 0 }));
  }

  has(key: string): boolean {
    return this.#live(key) !== undefined;
  }

  delete(key: string): boolean {
    if (!this.has(key)) return false;
    this.#note(key);
    return this.#entries.delete(key);
  }

  /** A collection whose last member went is no key; a stream stays. */
  deleteEmpty(key: string): void {
    const value = this.#entries.get(key)?.value;
    if ((value instanceof Map || value instanceof Set) && value.size === 0) this.delete(key);
  }

  expiryOf(key: string): number | undefined {
    return this.#live(key)?.expiresAtMs;
  }

  setExpiry(key: string, expiresAtMs: number): boolean {
    const entry = this.#live(key);
    if (!entry) return false;
    if (expiresAtMs <= this.nowMs) return this.delete(key);
    this.#note(key);
    this.#entries.set(key, { ...entry, expiresAtMs });
    return true;
  }

  #live(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (!entry || entry.expiresAtMs > this.nowMs) return entry;
    this.#note(key);
    this.#entries.delete(key);
    this.onExpired(key, entry.expiresAtMs);
    return undefined;
  }

  #read(key: string, kind: Entry['kind']): Value | undefined {
    const entry = this.#live(key);
    if (entry && entry.kind !== kind)
      throw new RedisError('WRONGTYPE Operation against a key holding the wrong kind of value');
    return entry?.value;
  }

  #change<T extends Value>(key: string, kind: Entry['kind'], make: () => T): T {
    const found = this.#read(key, kind) as T | undefined;
    this.#note(key);
    if (found !== undefined) return found;
    const value = make();
    this.#entries.set(key, { kind, value, expiresAtMs: Infinity });
    return value;
  }

  /** Keeps the value that the first change of a call finds. */
  #note(key: string): void {
    if (this.#undo.has(key)) return;
    const entry = this.#entries.get(key);
    this.#undo.set(key, entry && { ...entry, value: copy(entry.value) });
  }
}

const NOTHING: ReadonlyMap<string, number> = new Map();

function copy(value: Value): Value {
  if (typeof value === 'string') return value;
  if (value instanceof Set) return new Set(value);
  if (value instanceof Map) return new Map(value as Map<string, string>);
  return { ...value, entries: [...value.entries] };
}
