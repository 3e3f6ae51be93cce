import type { Transactions } from '../../../../apps/control-plane/src/platform/database/transactions.ts';
import type { Link } from '../link.ts';
import type { ModelPostgres } from './model-postgres.ts';
import { repositoryOf } from './repositories.ts';
import type { ModelTransaction } from './transaction.ts';

type DataSource = ConstructorParameters<typeof Transactions>[0];
type EntityManager = Parameters<Parameters<Transactions['run']>[0]>[0];

type Work<T> = (tx: EntityManager) => Promise<T>;

/** Is the part of TypeORM's `DataSource` that the code under simulation uses, over the model and a link that may break at any point. */
export function dataSourceOver(db: ModelPostgres, link: Link): DataSource {
  const query = async (sql: string, parameters: unknown[] = []): Promise<unknown> =>
    link.call(`query ${nameOf(sql)}`, async () => {
      const tx = db.begin();
      try {
        const rows = await db.execute(tx, sql, parameters);
        db.commit(tx);
        return rows;
      } finally {
        tx.end(false);
      }
    });
  const source = {
    query,
    transaction: async <T>(...parts: [...isolation: string[], work: Work<T>]): Promise<T> =>
      transact(db, link, parts.at(-1) as Work<T>),
    createQueryRunner: () => runnerOver(db, link),
  };
  return source as unknown as DataSource;
}

/** Makes a connection of its own, whose transaction holds a lock while others work; what it asks changes nothing. */
function runnerOver(db: ModelPostgres, link: Link) {
  let session: ModelTransaction | undefined;
  const lost = (): void => session?.end(false);
  link.once('close', lost);
  return {
    get isTransactionActive(): boolean {
      return session?.isEnded === false;
    },
    startTransaction: () => link.call('begin', () => void (session = db.begin())),
    rollbackTransaction: () => link.call('rollback', () => session?.end(false)),
    query: (sql: string, parameters: unknown[] = []) =>
      link.call(`session ${nameOf(sql)}`, () => {
        if (!session) throw new Error('there is no transaction');
        return db.execute(session, sql, parameters);
      }),
    release: (): Promise<void> => {
      link.off('close', lost);
      session?.end(false);
      return Promise.resolve();
    },
  };
}

async function transact<T>(
  db: ModelPostgres,
  link: Link,
  work: (tx: EntityManager) => Promise<T>,
): Promise<T> {
  const tx: ModelTransaction = await link.call('begin', () => db.begin());
  const abort = (): void => tx.end(false);
  // A broken connection rolls back its open transaction.
  link.once('close', abort);
  try {
    const query = inOrder(db, link, tx);
    const manager = {
      query,
      getRepository: (entity: { name: string }) => repositoryOf(entity, query),
    } as unknown as EntityManager;
    const value = await work(manager);
    await link.call('commit', () => db.commit(tx));
    return value;
  } catch (error) {
    tx.end(false);
    throw error;
  } finally {
    link.off('close', abort);
  }
}

/** A connection runs its statements in the order in which they were asked for, however many are asked for at once. */
function inOrder(db: ModelPostgres, link: Link, tx: ModelTransaction) {
  let underWay: Promise<unknown> | undefined;
  return (sql: string, parameters: unknown[] = []): Promise<unknown> => {
    const ask = (): Promise<unknown> =>
      link.call(`query ${nameOf(sql)}`, () => db.execute(tx, sql, parameters));
    const answer: Promise<unknown> = (underWay ? underWay.then(ask, ask) : ask()).finally(() => {
      if (underWay === answer) underWay = undefined;
    });
    underWay = answer;
    return answer;
  };
}

/** Returns the table that a statement names first, for the trace. */
function nameOf(sql: string): string {
  return /(?:FROM|INTO|UPDATE) ([a-z_]+)/.exec(sql)?.[1] ?? 'select';
}
