/**
 * Orders positions by rank, lowest first; of equal ranks the leftmost comes first. A rank is below 2^18 and a position below 2^31, so both fit into
 * the 53 bits of a number.
 */
const POSITIONS = 2 ** 31;

export class MergeHeap {
  /** Is the position of the entry that was taken last. */
  rank = 0;
  position = 0;
  #keys = new Float64Array(1_024);
  #size = 0;

  clear(): void {
    this.#size = 0;
  }

  push(rank: number, position: number): void {
    if (this.#size === this.#keys.length) this.#grow();
    const key = rank * POSITIONS + position;
    const keys = this.#keys;
    let at = this.#size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = keys[parent] as number;
      if (above <= key) break;
      keys[at] = above;
      at = parent;
    }
    keys[at] = key;
  }

  /** Returns false when the heap is empty. */
  take(): boolean {
    if (this.#size === 0) return false;
    const least = this.#keys[0] as number;
    this.#size -= 1;
    if (this.#size > 0) this.#sink(this.#keys[this.#size] as number);
    this.position = least % POSITIONS;
    this.rank = (least - this.position) / POSITIONS;
    return true;
  }

  /** Moves a key from the free place at the top down to its place. */
  #sink(key: number): void {
    const keys = this.#keys;
    const size = this.#size;
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && (keys[child + 1] as number) < (keys[child] as number)) child += 1;
      const below = keys[child] as number;
      if (below >= key) break;
      keys[at] = below;
      at = child;
    }
    keys[at] = key;
  }

  #grow(): void {
    const keys = new Float64Array(2 * this.#keys.length);
    keys.set(this.#keys);
    this.#keys = keys;
  }
}
