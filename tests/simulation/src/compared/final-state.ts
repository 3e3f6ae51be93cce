import type { ModelPostgres } from '../postgres/model-postgres.ts';
import { canonical } from './recorded.ts';
import type { Database } from './server.ts';

interface Compared {
  sql: string;
  rows: (db: ModelPostgres) => readonly object[];
  columns: readonly string[];
}

/** Lists every table that a simulation reads again. Moments are in Unix ms; ids that only name a row are omitted. */
const TABLES: Readonly<Record<string, Compared>> = {
  subscriptions: {
    sql: 'SELECT * FROM subscriptions',
    rows: (db) => db.rows.subscriptions.committed(),
    columns: [
      'id',
      'status',
      'balance',
      'overdraft',
      'credit_seq',
      'generation',
      'withdrawal_id',
      'drain',
      'revision',
      'auto_recharge_threshold',
      'auto_recharge_amount',
      'auto_recharge_retry_at',
      'auto_recharge_failures',
      'auto_recharge_refusal',
    ],
  },
  token_lots: {
    sql: 'SELECT * FROM token_lots',
    rows: (db) => db.rows.lots.committed(),
    columns: [
      'id',
      'subscription_id',
      'credit_seq',
      'tokens',
      'remaining',
      'withdrawn',
      'cost',
      'refunded',
    ],
  },
  token_credits: {
    sql: 'SELECT * FROM token_credits',
    rows: (db) => db.rows.credits.committed(),
    columns: ['subscription_id', 'seq', 'delta', 'kind'],
  },
  token_entries: {
    sql: 'SELECT * FROM token_entries',
    rows: (db) => db.rows.entries.committed(),
    columns: ['subscription_id', 'kind', 'reference', 'delta', 'balance_after'],
  },
  token_overdrafts: {
    sql: 'SELECT * FROM token_overdrafts',
    rows: (db) => db.rows.overdrafts.committed(),
    columns: ['subscription_id', 'reference', 'tokens'],
  },
  usage_events: {
    sql: "SELECT *, to_char(day, 'YYYY-MM-DD') AS day FROM usage_events",
    rows: (db) => db.rows.usage.committed(),
    columns: [
      'day',
      'rid',
      'seq',
      'kind',
      'subscription_id',
      'delta',
      'charge',
      'shard',
      'outbox_ms',
      'outbox_n',
      'created_at',
    ],
  },
  usage_dead_letters: {
    sql: 'SELECT * FROM usage_dead_letters',
    rows: (db) => db.rows.letters.committed(),
    columns: ['rid', 'seq', 'delta', 'payload', 'reason'],
  },
  ledger_accounts: {
    sql: 'SELECT * FROM ledger_accounts WHERE balance <> 0',
    rows: (db) => db.rows.accounts.committed().filter(({ balance }) => balance !== 0n),
    columns: ['kind', 'user_id', 'balance'],
  },
  ledger_transactions: {
    sql: 'SELECT * FROM ledger_transactions',
    rows: (db) => db.rows.postings.committed(),
    columns: ['kind', 'reference'],
  },
  ledger_entries: {
    sql: 'SELECT * FROM ledger_entries',
    rows: (db) => db.rows.postingEntries.committed(),
    columns: ['amount'],
  },
  live_state_outbox: {
    sql: 'SELECT * FROM live_state_outbox',
    rows: (db) => db.rows.outbox.committed(),
    columns: ['kind', 'target_id', 'created_at'],
  },
  shard_epochs: {
    sql: 'SELECT * FROM shard_epochs',
    rows: (db) => db.rows.epochs.committed(),
    columns: ['shard', 'epoch', 'updated_at'],
  },
};

/** Returns what differs, by table. */
export async function differencesOf(model: ModelPostgres, server: Database): Promise<string[]> {
  const found: string[] = [];
  for (const [name, { sql, rows, columns }] of Object.entries(TABLES)) {
    const text = (list: readonly object[]): string =>
      list
        .map((row) => columns.map((column) => canonical(Reflect.get(row, column))).join(' '))
        .toSorted()
        .join('\n');
    const [real, modelled] = [text(await server.query(sql)), text(rows(model))];
    if (real !== modelled)
      found.push(`${name}: PostgreSQL has\n${real}\nthe model has\n${modelled}`);
  }
  return found;
}
