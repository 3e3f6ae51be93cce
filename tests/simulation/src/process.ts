import type { Timers } from '../../../apps/proxy-node/src/timers.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/** Is one process: its clocks, its timers, and whether it lives. What it waited for never comes once it is killed. */
export class SimulatedProcess {
  readonly name: string;
  readonly #scheduler: Scheduler;
  readonly startedAtMs: number;
  /** Returns what its machine's wall clock is wrong by. */
  readonly #wallErrorMs: () => number;
  #isAlive = true;
  #stalledUntilMs = 0;
  #stalledMs = 0;
  #afterDeath: (() => void)[] = [];

  constructor(
    name: string,
    { scheduler, wallErrorMs }: { scheduler: Scheduler; wallErrorMs: () => number },
  ) {
    this.name = name;
    this.#scheduler = scheduler;
    this.startedAtMs = scheduler.nowMs;
    this.#wallErrorMs = wallErrorMs;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  unixMs = (): number => Math.floor(this.#scheduler.nowMs + this.#wallErrorMs());

  monotonicMs = (): number => Math.floor(this.#scheduler.nowMs - this.startedAtMs);

  after = (ms: number, act: () => void, label = 'timer'): (() => void) =>
    this.#scheduler.after(ms, `${this.name} ${label}`, () => this.#run(act));

  /** Returns timers with the jitter of a busy event loop. */
  timersOf(random: Random): Timers {
    const after: Timers['after'] = (ms, act) => this.after(ms + random.next(), act);
    return {
      after,
      soon: (act) => void this.after(0, act, 'soon'),
      every: (ms, act) => {
        let cancel = (): void => undefined;
        let isEnded = false;
        const next = (): void => {
          cancel = after(ms, () => {
            if (!isEnded) next();
            act();
          });
        };
        next();
        return () => {
          isEnded = true;
          cancel();
        };
      },
    };
  }

  /** It does nothing for so long, while its clocks and what it is connected to go on. What was due comes afterwards, in its order. */
  stall(ms: number): void {
    const { nowMs } = this.#scheduler;
    const from = Math.max(this.#stalledUntilMs, nowMs);
    this.#stalledUntilMs = Math.max(from, nowMs + ms);
    this.#stalledMs += this.#stalledUntilMs - from;
  }

  /** Counts the ms in which it has done nothing, or will do nothing once it continues. */
  get stalledMs(): number {
    return this.#stalledMs;
  }

  #run(act: () => void): void {
    const leftMs = this.#stalledUntilMs - this.#scheduler.nowMs;
    if (leftMs > 0) this.#scheduler.after(leftMs, `${this.name} stalled`, () => this.#run(act));
    else if (this.#isAlive) act();
  }

  onDeath(act: () => void): void {
    this.#afterDeath.push(act);
  }

  kill(): void {
    this.#isAlive = false;
    for (const act of this.#afterDeath.splice(0)) act();
  }
}
