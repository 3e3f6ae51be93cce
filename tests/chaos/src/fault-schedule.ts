import { setTimeout as delay } from 'node:timers/promises';
import { drawFault, type Fault, type FaultKind, type Stage } from './faults.ts';

/** So many at once that the parts meet each other's faults, and few enough that work is done in between. */
const AT_ONCE_MAX = 3;

export interface FaultCount {
  kind: FaultKind;
  victim: string;
  count: number;
}

/** Strikes fault after fault, drawn from the seed, until told to stop. */
export class FaultSchedule {
  readonly #stage: Stage;
  readonly #kinds: readonly FaultKind[];
  readonly #gapMs: number;
  readonly #log: (line: string) => void;
  readonly #struck = new Map<string, FaultCount>();
  readonly #running = new Map<string, Promise<void>>();
  #failure: unknown;

  constructor(stage: Stage, { kinds, gapMs, log }: { kinds: readonly FaultKind[]; gapMs: number; log: (line: string) => void }) {
    this.#stage = stage;
    this.#kinds = kinds;
    this.#gapMs = gapMs;
    this.#log = log;
  }

  get counts(): FaultCount[] {
    return [...this.#struck.values()].toSorted((a, b) => (a.kind + a.victim < b.kind + b.victim ? -1 : 1));
  }

  get total(): number {
    return this.counts.reduce((sum, { count }) => sum + count, 0);
  }

  /** Resolves when the last fault is mended; throws what could not be mended. */
  async run(untilMs: number): Promise<void> {
    while (Date.now() < untilMs && this.#failure === undefined) {
      await delay(this.#gapMs * (0.5 + this.#stage.random()));
      const fault = drawFault(this.#kinds, this.#stage);
      if (this.#running.size < AT_ONCE_MAX && !this.#isBusy(fault.victim)) this.#strike(fault);
    }
    await Promise.all(this.#running.values());
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** A silenced way to a dead store proves nothing more, but a process is struck once at a time. */
  #isBusy(victim: string): boolean {
    return this.#running.has(victim);
  }

  #strike({ kind, victim, strike }: Fault): void {
    const known = this.#struck.get(`${kind} ${victim}`) ?? { kind, victim, count: 0 };
    this.#struck.set(`${kind} ${victim}`, { ...known, count: known.count + 1 });
    this.#log(`${kind} ${victim}`);
    const running = strike()
      .catch((error: unknown) => void (this.#failure ??= error))
      .finally(() => this.#running.delete(victim));
    this.#running.set(victim, running);
  }
}
