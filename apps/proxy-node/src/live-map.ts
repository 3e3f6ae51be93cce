import { takesLibraryPath } from '@tollgate/contracts';

/** After this many deletions, or as many as there are entries, the rest moves to a new table. */
const DELETIONS_MAX = takesLibraryPath('live_map') ? Infinity : 64;

/**
 * Is a map for entries that soon go again. A `Map` of V8 that fills its table moves to another, and the old table keeps its entries and a reference to the
 * next (ordered-hash-table.h, `SetNextTable`). As soon as one table is in the old generation, all entries that pass through the map later survive each
 * minor collection through that chain, with everything they refer to, although they are deleted. A map that is copied into a new one has no such chain.
 *
 * An iteration sees the entries that were there when it began, but for those deleted before its next rebuild: delete what is visited, nothing else.
 */
export class LiveMap<K, V> {
  #entries = new Map<K, V>();
  #deletions = 0;

  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  set(key: K, value: V): void {
    this.#entries.set(key, value);
  }

  /** Returns false when there was none. */
  delete(key: K): boolean {
    if (!this.#entries.delete(key)) return false;
    this.#deletions += 1;
    if (this.#deletions >= Math.max(DELETIONS_MAX, this.#entries.size)) {
      this.#entries = new Map(this.#entries);
      this.#deletions = 0;
    }
    return true;
  }

  values(): Iterable<V> {
    return this.#entries.values();
  }
}

/** Is the same structure for a set. */
export class LiveSet<T> {
  readonly #members = new LiveMap<T, T>();

  get size(): number {
    return this.#members.size;
  }

  add(member: T): void {
    this.#members.set(member, member);
  }

  /** Returns false when it was not a member. */
  delete(member: T): boolean {
    return this.#members.delete(member);
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#members.values()[Symbol.iterator]();
  }
}
