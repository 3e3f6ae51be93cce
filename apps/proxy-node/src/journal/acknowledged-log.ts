import { acknowledgedLine } from './journal-line.ts';
import type { Journal } from './journal.ts';
import type { Timers } from '../timers.ts';

/** Journals what PostgreSQL has, in one line for all acknowledgements of a tick. */
export class AcknowledgedLog {
  readonly #journal: Journal;
  readonly #now: () => number;
  readonly #timers: Timers;
  #waiting: [rid: string, seq: number][] = [];

  constructor(journal: Journal, { now, timers }: { now: () => number; timers: Timers }) {
    this.#journal = journal;
    this.#now = now;
    this.#timers = timers;
  }

  note(rid: string, seq: number): void {
    if (this.#waiting.push([rid, seq]) === 1) this.#timers.soon(() => this.write());
  }

  write(): void {
    if (this.#waiting.length === 0) return;
    this.#journal.append(acknowledgedLine(this.#now(), this.#waiting));
    this.#waiting = [];
  }
}
