import { letPass } from '@tollgate/harness';
import { drawFault, revive, type Fault, type FaultKind, type Stage } from './faults.ts';

/** So many faults run at once: enough that the parts meet each other's faults, few enough that work is done in between. */
const AT_ONCE_MAX = 3;
const LAST_LINES = 6;
const LAST_CHARS = 3_000;

export interface FaultCount {
  kind: FaultKind;
  victim: string;
  count: number;
}

/** Strikes fault after fault, drawn from the seed, until it is stopped. */
export class FaultSchedule {
  readonly #stage: Stage;
  readonly #kinds: readonly FaultKind[];
  readonly #gapMs: number;
  readonly #log: (line: string) => void;
  readonly #struck = new Map<string, FaultCount>();
  /** Maps each thing that is under a fault to the end of that fault. */
  readonly #running = new Map<string, Promise<void>>();
  #strikes = 0;
  /** Lists unexpected exits, with the last output of the process. */
  readonly crashes: string[] = [];
  #failure: unknown;

  constructor(
    stage: Stage,
    {
      kinds,
      gapMs,
      log,
    }: { kinds: readonly FaultKind[]; gapMs: number; log: (line: string) => void },
  ) {
    this.#stage = stage;
    this.#kinds = kinds;
    this.#gapMs = gapMs;
    this.#log = log;
  }

  get counts(): FaultCount[] {
    return [...this.#struck.values()].toSorted((a, b) =>
      a.kind + a.victim < b.kind + b.victim ? -1 : 1,
    );
  }

  get total(): number {
    return this.counts.reduce((sum, { count }) => sum + count, 0);
  }

  /** Resolves when the last fault is repaired; throws what could not be repaired. */
  async run(untilMs: number): Promise<void> {
    while (Date.now() < untilMs && this.#failure === undefined) {
      await letPass(this.#gapMs * (0.5 + this.#stage.random()), 'faults strike at random moments');
      this.#reviveCrashed();
      const fault = drawFault(this.#kinds, this.#stage);
      if (this.#strikes < AT_ONCE_MAX && !fault.parts.some((part) => this.#isBusy(part)))
        this.#strike(fault);
    }
    await Promise.all(this.#running.values());
    this.#reviveCrashed();
    await Promise.all(this.#running.values());
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** A silenced way to a dead store proves nothing more, but a process is struck once at a time. */
  #isBusy(part: string): boolean {
    return this.#running.has(part);
  }

  /** Whatever is not running and under no fault ended by itself. */
  #reviveCrashed(): void {
    const { tollgate } = this.#stage;
    for (const name of tollgate.processNames.filter(
      (each) => !tollgate.isRunning(each) && !this.#isBusy(each),
    )) {
      const lastOutput = tollgate
        .logs(name)
        .trimEnd()
        .split('\n')
        .slice(-LAST_LINES)
        .join('\n    ')
        .slice(-LAST_CHARS);
      this.#log(`CRASHED ${name}`);
      this.crashes.push(`${name} ended by itself; its last output:\n    ${lastOutput}`);
      this.#track([name], revive(tollgate, name));
    }
  }

  #track(parts: readonly string[], work: Promise<void>): void {
    this.#strikes += 1;
    const running = work
      .catch((error: unknown) => void (this.#failure ??= error))
      .finally(() => {
        this.#strikes -= 1;
        for (const part of parts) this.#running.delete(part);
      });
    for (const part of parts) this.#running.set(part, running);
  }

  #strike({ kind, victim, parts, strike }: Fault): void {
    const known = this.#struck.get(`${kind} ${victim}`) ?? { kind, victim, count: 0 };
    this.#struck.set(`${kind} ${victim}`, { ...known, count: known.count + 1 });
    this.#log(`${kind} ${victim}`);
    this.#track(parts, strike());
  }
}
