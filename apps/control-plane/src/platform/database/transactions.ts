import { Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { isTransactionConflict, lostPlan } from './database-errors.ts';
import { repeatedLook } from './repeated-looks.ts';

export type Isolation = 'READ COMMITTED' | 'REPEATABLE READ' | 'SERIALIZABLE';
type Hook = () => Promise<void>;
interface Hooks {
  before: Hook[];
  after: Hook[];
  /** Holds the answers to the statements that `send` sent. */
  sent: Promise<unknown>[];
  /** Holds the first failure. Later failures follow from it and are less clear. */
  failure?: { error: unknown };
}

/** A conflicting transaction runs at most this often before its caller gets the error. */
const ATTEMPTS_MAX = 4;

const hooksOf = new WeakMap<EntityManager, Hooks>();
const logger = new Logger('transactions');

/**
 * Runs `hook` after `tx` has committed and before `Transactions.run` returns; it never runs after a rollback. A failing hook is logged and not
 * thrown, because the commit remains. A change that must survive a crash is therefore also written to an outbox in `tx`.
 */
export function afterCommit(tx: EntityManager, hook: Hook): void {
  registered(tx).after.push(hook);
}

/**
 * Runs `hook` inside `tx` as its last step. It suits writes that take a lock that all share: the lock is then held for a moment, and never while the
 * transaction waits for a row.
 */
export function beforeCommit(tx: EntityManager, hook: Hook): void {
  registered(tx).before.push(hook);
}

/**
 * Sends a statement whose rows are not needed, without waiting for its answer. PostgreSQL runs the statements in this order. The transaction waits
 * for all answers before it commits, and fails when one of them failed.
 */
export function send(tx: EntityManager, sql: string, parameters: unknown[] = []): void {
  const hooks = registered(tx);
  const answer = tx.query(sql, parameters);
  answer.catch((error: unknown) => (hooks.failure ??= { error }));
  hooks.sent.push(answer);
}

@Injectable()
export class Transactions {
  constructor(private readonly dataSource: DataSource) {}

  /** Does what `repeatedLook` does. */
  look(sql: string): Promise<unknown[]> {
    return repeatedLook(this.dataSource, sql);
  }

  /** Runs one statement that needs no transaction. */
  query<Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> {
    return this.dataSource.query(sql, parameters);
  }

  /**
   * Runs one transaction. `work` gets `tx` and passes it on as the first parameter. It may run again after a deadlock, a serialization failure or a
   * lost plan, so it changes nothing but `tx` and leaves other effects to `afterCommit`.
   */
  async run<T>(
    work: (tx: EntityManager) => Promise<T>,
    isolation: Isolation = 'READ COMMITTED',
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.attempt(work, isolation);
      } catch (error) {
        if (attempt >= ATTEMPTS_MAX || !isRepeatable(error)) throw error;
      }
    }
  }

  private async attempt<T>(
    work: (tx: EntityManager) => Promise<T>,
    isolation: Isolation,
  ): Promise<T> {
    const hooks: Hooks = { before: [], after: [], sent: [] };
    const inside = async (tx: EntityManager): Promise<T> => {
      hooksOf.set(tx, hooks);
      const value = await work(tx);
      for (const hook of hooks.before) await hook();
      await Promise.all(hooks.sent);
      return value;
    };
    const result = await this.transact(inside, isolation).catch((error: unknown) => {
      throw hooks.failure ? hooks.failure.error : error;
    });
    for (const hook of hooks.after)
      await hook().catch((error: unknown) => logger.error(error, 'a step after the commit failed'));
    return result;
  }

  private transact<T>(work: (tx: EntityManager) => Promise<T>, isolation: Isolation): Promise<T> {
    // Sessions have this level already (`requireSessionSettings`); naming it would cost a statement.
    return isolation === 'READ COMMITTED'
      ? this.dataSource.transaction(work)
      : this.dataSource.transaction(isolation, work);
  }
}

/** PostgreSQL rolled everything back. A connection that lost a plan now sends the statement in another way (`LastingClient`). */
function isRepeatable(error: unknown): boolean {
  return isTransactionConflict(error) || lostPlan(error) !== null;
}

function registered(tx: EntityManager): Hooks {
  const hooks = hooksOf.get(tx);
  if (!hooks) throw new Error('hooks need the tx of Transactions.run');
  return hooks;
}
