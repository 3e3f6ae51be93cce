import { Logger } from '@nestjs/common';
import pg from 'pg';
import { copyIn, isCopied } from './copied.ts';
import { lostPlan } from './database-errors.ts';
import { preparedName } from './prepared.ts';

const logger = new Logger('postgres');
/** TypeORM begins a transaction with this text. */
const BEGIN = 'START TRANSACTION';

/**
 * Returns without waiting for the answer, so that the first statement leaves together with BEGIN. When BEGIN fails because the connection is lost,
 * that statement fails too.
 */
function begun(answer: Promise<unknown>): Promise<{ rows: never[]; rowCount: number }> {
  answer.catch(() => undefined);
  return Promise.resolve({ rows: [], rowCount: 0 });
}

/**
 * Is a client that always has a listener for its errors. The pool listens while a client is idle and TypeORM while it is in use; between the two a
 * connection that breaks would be an unhandled error, which ends the process.
 * It prepares the statements that `prepared` names, where it speaks to PostgreSQL itself: a pooler may give each transaction another server
 * connection, which knows nothing of them. A plan that is lost is prepared again; in a transaction, when that is repeated.
 * Statements that are asked for together leave together (the driver's pipeline mode), in the order in which they were asked for.
 */
export class LastingClient extends pg.Client {
  private isDirect: boolean | undefined;
  /**
   * Counts lost plans. The driver never prepares a name twice, and a change that affected one plan may have affected others, so all statements get
   * new names.
   */
  private losses = 0;
  /** Resolves when `isDirect` is known. Statements wait for it, so that they keep their order. */
  private learning: Promise<void> | undefined;
  /** The driver reads this field before each statement, although its types do not declare it. */
  declare pipeline: boolean;

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    this.pipeline = true;
    this.on('error', (error) => logger.debug(error, 'a connection was lost'));
    const query = this.query.bind(this);
    const runOnce = (text: string, name: string, values: unknown[]): Promise<unknown> =>
      this.isDirect ? query({ name: `${name}_${this.losses}`, text, values }) : query(text, values);
    const learn = async (): Promise<void> => {
      try {
        const { rows } = await query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        this.isDirect = rows[0]?.pid === this.announcedPid();
      } finally {
        this.learning = undefined;
      }
    };
    const run = async (text: string, name: string, values: unknown[]): Promise<unknown> => {
      try {
        return await runOnce(text, name, values);
      } catch (error) {
        if (!this.hasOtherWay(error) || this.getTransactionStatus() !== 'I') throw error;
        return runOnce(text, name, values);
      }
    };
    const choose = (...args: [unknown, ...unknown[]]): unknown => {
      const [text, values = []] = args;
      if (typeof text !== 'string') return Reflect.apply(query, this, args);
      if (this.learning) return this.learning.then(() => choose(...args));
      if (text === BEGIN) return begun(query(text));
      if (isCopied(text)) return this.copy(query, text, String((values as unknown[])[0]));
      const name = preparedName(text);
      if (name === undefined || !Array.isArray(values)) return Reflect.apply(query, this, args);
      if (this.isDirect !== undefined) return run(text, name, values);
      this.learning = learn();
      return this.learning.then(() => choose(...args));
    };
    this.query = choose as typeof this.query;
  }

  /** The driver refuses COPY in pipeline mode. No other statement has to wait: a copy is sent after all statements before it are answered. */
  private async copy(
    query: pg.Client['query'],
    sql: string,
    text: string,
  ): Promise<{ rows: never[]; rowCount: number }> {
    this.pipeline = false;
    try {
      return await copyIn(query, sql, text);
    } finally {
      this.pipeline = true;
    }
  }

  /**
   * Returns whether the statement did not begin and can now be sent in another way. A session that does not know the statement's name is shared with
   * other clients.
   */
  private hasOtherWay(error: unknown): boolean {
    const loss = lostPlan(error);
    if (loss === 'changed') this.losses += 1;
    if (loss === 'unknown') this.isDirect = false;
    return loss !== null;
  }

  /** Returns the process id that the other end announced; a pooler announces one of its own. */
  private announcedPid(): unknown {
    return 'processID' in this ? this.processID : undefined;
  }
}
