import { acknowledgedLine } from './journal-line.ts';
import type { Journal } from './journal.ts';

/** Writes down what PostgreSQL has, one line for all of a tick. */
export class AcknowledgedLog {
  readonly #journal: Journal;
  readonly #now: () => number;
  #waiting: [rid: string, seq: number][] = [];

  constructor(journal: Journal, now: () => number) {
    this.#journal = journal;
    this.#now = now;
  }

  note(rid: string, seq: number): void {
    if (this.#waiting.push([rid, seq]) === 1) setImmediate(() => this.write());
  }

  write(): void {
    if (this.#waiting.length === 0) return;
    this.#journal.append(acknowledgedLine(this.#now(), this.#waiting));
    this.#waiting = [];
  }
}
