import type { DataSource } from 'typeorm';

/** Whether the ledger has any entry yet. */
export async function hasTransactions(source: Pick<DataSource, 'query'>): Promise<boolean> {
  const rows: unknown[] = await source.query('SELECT 1 FROM ledger_transactions LIMIT 1');
  return rows.length > 0;
}
