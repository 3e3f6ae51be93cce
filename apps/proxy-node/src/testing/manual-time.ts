import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Timers } from '../timers.ts';

interface Due {
  atMs: number;
  /** Is the time between two runs; null for an act that runs once. */
  everyMs: number | null;
  act: () => void;
}

/** Is time that passes only when a test lets it: nothing waits for a real clock, and nothing happens between two moments unseen. */
export class ManualTime {
  nowMs: number;
  /** Counts the due timers, for each of which a sleeping process would be woken. */
  wakes = 0;
  readonly now = (): number => this.nowMs;
  readonly timers: Timers = {
    every: (ms, act) => this.#add({ atMs: this.nowMs + ms, everyMs: ms, act }),
    after: (ms, act) => this.#add({ atMs: this.nowMs + ms, everyMs: null, act }),
    soon: (act) => void setImmediate(act),
  };
  readonly #due = new Set<Due>();
  readonly #settled: () => Promise<unknown>;

  /** `settled` is awaited after each moment, until what happened in it has had its consequences; without sockets one turn is enough. */
  constructor(startMs = 0, settled: () => Promise<unknown> = () => nextTurn()) {
    this.nowMs = startMs;
    this.#settled = settled;
  }

  /** All that falls due within so many milliseconds happens, in its order. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms;
    await this.#settled();
    for (let next = this.#next(untilMs); next; next = this.#next(untilMs)) {
      this.nowMs = Math.max(this.nowMs, next.atMs);
      if (next.everyMs === null) this.#due.delete(next);
      else next.atMs += next.everyMs;
      this.wakes += 1;
      next.act();
      await this.#settled();
    }
    this.nowMs = untilMs;
  }

  #add(due: Due): () => void {
    this.#due.add(due);
    return () => void this.#due.delete(due);
  }

  #next(untilMs: number): Due | undefined {
    let first: Due | undefined;
    for (const due of this.#due)
      if (due.atMs <= untilMs && (!first || due.atMs < first.atMs)) first = due;
    return first;
  }
}
