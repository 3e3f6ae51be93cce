import type { Transactions } from '../../../../apps/control-plane/src/platform/database/transactions.ts';

type Source = ConstructorParameters<typeof Transactions>[0];
type Manager = Parameters<Parameters<Transactions['run']>[0]>[0];

export interface Answer {
  sql: string;
  /** Is null when the statement failed. */
  rows: Record<string, unknown>[] | null;
}

/** Returns the same data source; each statement is kept with what it answered. */
export function recorded(source: Source, answers: Answer[]): Source {
  const asked = async (
    manager: Pick<Manager, 'query'>,
    sql: string,
    parameters: unknown[] = [],
  ): Promise<unknown> => {
    const answer: Answer = { sql: sql.replaceAll(/\s+/g, ' ').trim(), rows: null };
    answers.push(answer);
    const reply: unknown = await manager.query(sql, parameters);
    answer.rows = rowsOf(reply);
    return reply;
  };
  const recording = {
    query: (sql: string, parameters?: unknown[]) =>
      asked(source.manager ?? source, sql, parameters),
    transaction: (...parts: [...isolation: string[], work: (tx: Manager) => Promise<unknown>]) =>
      source.transaction('READ COMMITTED', (tx) =>
        (parts.at(-1) as (tx: Manager) => Promise<unknown>)({
          query: (sql: string, parameters?: unknown[]) => asked(tx, sql, parameters),
        } as unknown as Manager),
      ),
  };
  return recording as unknown as Source;
}

/** TypeORM answers an update with its rows and their number. */
function rowsOf(reply: unknown): Record<string, unknown>[] {
  const list = Array.isArray(reply) ? reply : [];
  const rows: unknown[] = Array.isArray(list[0]) ? list[0] : list;
  return rows.filter((row) => typeof row === 'object') as Record<string, unknown>[];
}

/** Returns one text for a value, however its side writes numbers and dates. */
export function canonical(value: unknown): string {
  if (value instanceof Date) return String(value.getTime());
  if (typeof value === 'object' && value !== null) return JSON.stringify(value);
  return String(value).toLowerCase();
}

/** Writes an answer by the columns that PostgreSQL answers; in their order only where the statement asks for one. */
export function answerText({ sql, rows }: Answer, columns: readonly string[]): string {
  if (rows === null) return 'failed';
  const lines = rows.map((row) =>
    columns.map((name) => `${name}=${canonical(row[name])}`).join(' '),
  );
  return (/ORDER BY/.test(sql) ? lines : lines.toSorted()).join('\n');
}
