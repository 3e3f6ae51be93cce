import { isDataError } from '../../../../apps/control-plane/src/features/usage/ingest/data-error.ts';
import type { Server } from '../link.ts';
import type { Rows } from './rows.ts';
import { tables } from './rows.ts';
import { MustWait } from './table.ts';
import { ModelTransaction } from './transaction.ts';

/** Is a statement of the product with its parameters, as the model answers it. */
export type Statement = (
  db: ModelPostgres,
  tx: ModelTransaction,
  parameters: readonly unknown[],
  sql: string,
) => unknown;

/** Finds statements by a part of their text; the longest that fits names one. */
export type Statements = readonly (readonly [part: string, Statement])[];

class Deadlock extends Error {
  readonly code = '40P01';
}

/**
 * Is PostgreSQL as far as the code under simulation uses it: each of its statements is restated over plain tables, found by its text. Rows lock, waits that would never end are
 * deadlocks, and what was not committed is gone when a connection breaks.
 */
export class ModelPostgres implements Server {
  readonly rows: Rows = tables();
  readonly #advisory = new Map<
    string,
    { alone: ModelTransaction | null; shared: Set<ModelTransaction> }
  >();
  readonly #now: () => number;
  readonly #statements: Statements;
  readonly #found = new Map<string, Statement>();
  #lastTransaction = 0;
  isUp = true;
  /** Counts transactions that wrote and have ended. */
  changes = 0;
  /** Holds what the model could not do: a statement it lacks, one that it did wrong, or a commit that a watcher broke. */
  fault: unknown = null;
  /** Is called after each commit. */
  onCommitted: () => void = () => undefined;
  readonly #open = new Set<ModelTransaction>();

  constructor(now: () => number, statements: Statements) {
    this.#now = now;
    this.#statements = statements;
  }

  /** Is `clock_timestamp()`. */
  get nowMs(): number {
    return this.#now();
  }

  begin(): ModelTransaction {
    const tx = new ModelTransaction((this.#lastTransaction += 1), this.nowMs);
    this.#open.add(tx);
    tx.onEnd((isCommitted) => {
      this.#open.delete(tx);
      if (isCommitted && tx.hasWritten) this.changes += 1;
    });
    return tx;
  }

  async execute(
    tx: ModelTransaction,
    sql: string,
    parameters: readonly unknown[],
  ): Promise<unknown> {
    const statement = this.#statementFor(sql);
    if (!statement) {
      this.fault ??= new Error(`the model knows no such statement: ${sql}`);
      throw this.fault;
    }
    for (;;) {
      if (tx.isEnded) throw new Error('Connection terminated unexpectedly');
      try {
        return statement(this, tx, parameters, sql);
      } catch (error) {
        if (isDataError(error)) throw error;
        if (!(error instanceof MustWait)) {
          this.fault ??= error;
          throw error;
        }
        if (tx.wouldDeadlock(error.owner)) {
          tx.end(false);
          throw new Deadlock('deadlock detected');
        }
        tx.waitsFor = error.owner;
        await error.owner.ended;
        tx.waitsFor = null;
      }
    }
  }

  commit(tx: ModelTransaction): void {
    if (tx.isEnded) throw new Error('Connection terminated unexpectedly');
    try {
      tx.end(true);
      this.onCommitted();
    } catch (error) {
      // A commit that was left half-way keeps its locks, and the product would take the error for one of its server.
      this.fault ??= error;
      throw error;
    }
  }

  /** Everything that was not committed is gone. */
  crash(): void {
    this.isUp = false;
    for (const tx of this.#open) tx.end(false);
  }

  advisoryLock(tx: ModelTransaction, key: string, { isShared }: { isShared: boolean }): void {
    const lock = this.#advisory.get(key) ?? { alone: null, shared: new Set<ModelTransaction>() };
    this.#advisory.set(key, lock);
    if (lock.alone && lock.alone !== tx) throw new MustWait(lock.alone);
    if (isShared) {
      lock.shared.add(tx);
      tx.onEnd(() => lock.shared.delete(tx));
      return;
    }
    for (const other of lock.shared) if (other !== tx) throw new MustWait(other);
    lock.alone = tx;
    tx.onEnd(() => {
      if (lock.alone === tx) lock.alone = null;
    });
  }

  tryAdvisoryLock(tx: ModelTransaction, key: string): boolean {
    try {
      this.advisoryLock(tx, key, { isShared: false });
      return true;
    } catch (error) {
      if (error instanceof MustWait) return false;
      throw error;
    }
  }

  #statementFor(sql: string): Statement | undefined {
    const known = this.#found.get(sql);
    if (known) return known;
    const text = sql.replaceAll(/\s+/g, ' ').trim();
    const matching = this.#statements.filter(([part]) => text.includes(part));
    const [longest] = matching.toSorted(([a], [b]) => b.length - a.length);
    if (longest) this.#found.set(sql, longest[1]);
    return longest?.[1];
  }
}
