import { monotonicMs } from '../monotonic-ms.ts';
import { LiveSet } from '../live-map.ts';

export interface Ticking {
  /** Is called about every TICK_MS. It must be cheap and must not throw. */
  tick(now: number): void;
}

const TICK_MS = 250;

/**
 * Runs one timer for all running requests: it checks deadlines, keep-alives and stalls four times a second instead of setting several timers at every
 * chunk. Ten thousand streams cost less than a millisecond a tick.
 */
export class Ticker {
  readonly #members = new LiveSet<Ticking>();
  #timer: NodeJS.Timeout | null = null;

  add(member: Ticking): void {
    this.#members.add(member);
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
  }

  remove(member: Ticking): void {
    this.#members.delete(member);
    if (this.#members.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #tick(): void {
    const now = monotonicMs();
    for (const member of this.#members) member.tick(now);
  }
}
