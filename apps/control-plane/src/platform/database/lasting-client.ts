import { Logger } from '@nestjs/common';
import pg from 'pg';
import { copyIn, isCopied } from './copied.ts';
import { lostPlan } from './database-errors.ts';
import { preparedName } from './prepared.ts';

const logger = new Logger('postgres');

/**
 * A client that always has a listener for its errors. The pool listens while a client is idle and TypeORM while it is in use; between the two a
 * connection that breaks would be an unhandled error, which ends the process.
 * It prepares the statements that `prepared` names, where it speaks to PostgreSQL itself: a pooler may give each transaction another server
 * connection, which knows nothing of them. A plan that is lost is prepared again; in a transaction, when that is repeated.
 */
export class LastingClient extends pg.Client {
  private isDirect: boolean | undefined;
  /** Counts lost plans. The driver never prepares a name twice; what changed one plan may have changed others, so all get new names. */
  private losses = 0;

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    this.on('error', (error) => logger.debug(error, 'a connection was lost'));
    const query = this.query.bind(this);
    const runOnce = (text: string, name: string, values: unknown[]): Promise<unknown> =>
      this.isDirect ? query({ name: `${name}_${this.losses}`, text, values }) : query(text, values);
    const run = async (text: string, name: string, values: unknown[]): Promise<unknown> => {
      if (this.isDirect === undefined) {
        const { rows } = await query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        this.isDirect = rows[0]?.pid === this.announcedPid();
      }
      try {
        return await runOnce(text, name, values);
      } catch (error) {
        if (!this.hasOtherWay(error) || this.getTransactionStatus() !== 'I') throw error;
        return runOnce(text, name, values);
      }
    };
    const choose = (...args: [unknown, ...unknown[]]): unknown => {
      const [text, values = []] = args;
      if (typeof text === 'string' && isCopied(text))
        return copyIn(query, text, String((values as unknown[])[0]));
      const name = typeof text === 'string' ? preparedName(text) : undefined;
      return name !== undefined && Array.isArray(values)
        ? run(text as string, name, values)
        : Reflect.apply(query, this, args);
    };
    this.query = choose as typeof this.query;
  }

  /** Returns whether the statement did not begin and has another way now. A session that does not know its name is not this client's alone. */
  private hasOtherWay(error: unknown): boolean {
    const loss = lostPlan(error);
    if (loss === 'changed') this.losses += 1;
    if (loss === 'unknown') this.isDirect = false;
    return loss !== null;
  }

  /** The process id that the other end gave; a pooler gives one of its own. */
  private announcedPid(): unknown {
    return 'processID' in this ? this.processID : undefined;
  }
}
