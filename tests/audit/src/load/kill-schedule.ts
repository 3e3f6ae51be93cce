import { type Tollgate, letPass } from '@tollgate/harness';

const DOWN_MIN_MS = 200;
const DOWN_MAX_MS = 1_500;

/** Kills every process of an installation once with -9, one after the other, spread over a run, and starts each again a moment later. */
export class KillSchedule {
  readonly #tollgate: Tollgate;
  readonly #random: () => number;
  readonly #names: string[];
  readonly #total: number;
  readonly killed: string[] = [];
  #running: Promise<void> = Promise.resolve();

  constructor(tollgate: Tollgate, random: () => number) {
    this.#tollgate = tollgate;
    this.#random = random;
    this.#names = tollgate.processNames
      .map((name) => ({ name, order: random() }))
      .sort((a, b) => a.order - b.order)
      .map(({ name }) => name);
    this.#total = this.#names.length;
  }

  /** Kills what is due; `progress` is from 0 to 1. */
  advance(progress: number): void {
    const due = Math.floor(progress * (this.#total + 1)) - (this.#total - this.#names.length);
    const name = due > 0 ? this.#names.shift() : undefined;
    if (name !== undefined) this.#running = this.#running.then(() => this.#kill(name));
  }

  /** Resolves when everything that was killed runs again. */
  async finish(): Promise<void> {
    await this.#running;
  }

  async #kill(name: string): Promise<void> {
    await this.#tollgate.kill(name, 'SIGKILL');
    this.killed.push(name);
    const downMs = DOWN_MIN_MS + this.#random() * (DOWN_MAX_MS - DOWN_MIN_MS);
    await letPass(downMs, 'the process stays down');
    await this.#tollgate.restart(name);
  }
}
