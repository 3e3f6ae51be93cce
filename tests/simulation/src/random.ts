import { createHash } from 'node:crypto';

/** Draws numbers from a seed (sfc32). Each purpose draws from a stream of its own, so that one more draw here changes nothing there. */
export class Random {
  readonly #state: Uint32Array;

  constructor(seed: number, purpose: string) {
    const digest = createHash('sha256').update(`${seed}:${purpose}`).digest();
    this.#state = new Uint32Array([0, 4, 8, 12].map((at) => digest.readUInt32LE(at)));
  }

  /** Returns a number from 0 to below 1. */
  next(): number {
    const state = this.#state;
    const [a = 0, b = 0, c = 0, counter = 0] = state;
    const sum = (a + b + counter) >>> 0;
    state[3] = counter + 1;
    state[0] = b ^ (b >>> 9);
    state[1] = c + (c << 3);
    state[2] = ((c << 21) | (c >>> 11)) + sum;
    return sum / 2 ** 32;
  }

  /** Returns an integer from `min` to `max`, both included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    const item = list[Math.floor(this.next() * list.length)];
    if (item === undefined) throw new RangeError('nothing to pick from');
    return item;
  }

  /** Returns a UUIDv7 of this moment. */
  uuidV7(ms: number): string {
    const time = ms.toString(16).padStart(12, '0');
    const tail = Array.from({ length: 4 }, () =>
      this.integer(0, 0xffff).toString(16).padStart(4, '0'),
    );
    return `${time.slice(0, 8)}-${time.slice(8)}-7${(tail[0] ?? '').slice(1)}-8${(tail[1] ?? '').slice(1)}-${tail[2]}${tail[3]}0000`;
  }
}
