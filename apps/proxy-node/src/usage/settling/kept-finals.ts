import type { FinalState } from './final-step.ts';

/** The passed part of the list is dropped only when it is this long, because moving the list each time would cost more. */
const PASSED_MAX = 4_096;

/** Holds the finals that PostgreSQL has, in the order of their acknowledgements. Each is removed after its time without reading the others. */
export class KeptFinals<T extends FinalState> {
  readonly #keepMs: number;
  #list: T[] = [];
  #passed = 0;

  constructor(keepMs: number) {
    this.#keepMs = keepMs;
  }

  add(final: T): void {
    this.#list.push(final);
  }

  /** Calls `forget` for those whose time is over. One that was settled again meanwhile is in the list twice; `forget` changes its stage. */
  forgetDue(now: number, forget: (final: T) => void): void {
    for (; this.#passed < this.#list.length; this.#passed += 1) {
      const final = this.#list[this.#passed] as T;
      if (now - (final.acknowledgedAtMs ?? now) < this.#keepMs) break;
      if (final.stage === 'kept') forget(final);
    }
    if (this.#passed > PASSED_MAX) {
      this.#list = this.#list.slice(this.#passed);
      this.#passed = 0;
    }
  }
}
