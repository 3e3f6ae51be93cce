import type { Statement } from './model-postgres.ts';
import type { LedgerAccountRow, Rows } from './rows.ts';

const HOUSE_ACCOUNTS = ['payments', 'revenue', 'grants', 'overdraft'];

/** Returns an id after the accounts of the house. */
export function walletId(rows: Rows): number {
  return HOUSE_ACCOUNTS.length + rows.accounts.nextId();
}

const open: Statement = (db, tx, [kind, reference]) => {
  const key = `${String(kind)}:${String(reference)}`;
  if (db.rows.postings.lock(tx, key)) return [];
  const id = db.rows.postings.nextId();
  db.rows.postings.put(tx, key, { id, kind: String(kind), reference: String(reference) });
  return [{ id }];
};

/** Wallets are made when they are first needed; the accounts of the house are always there. */
const makeWallets: Statement = (db, tx, [userIds]) => {
  for (const userId of userIds as number[]) {
    const key = `wallet:${userId}`;
    if (db.rows.accounts.get(tx, key) || db.rows.accounts.lock(tx, key)) continue;
    const id = walletId(db.rows);
    db.rows.accounts.put(tx, key, { id, kind: 'wallet', user_id: userId, balance: 0n });
  }
  return [];
};

const lockAccounts: Statement = (db, tx, [userIds, kinds]) => {
  const house = (kinds as string[]).toSorted(
    (a, b) => HOUSE_ACCOUNTS.indexOf(a) - HOUSE_ACCOUNTS.indexOf(b),
  );
  const named = [...house, ...(userIds as number[]).map((id) => `wallet:${id}`)];
  return named.map((key): LedgerAccountRow => {
    const row = db.rows.accounts.lock(tx, key) ?? {
      id: HOUSE_ACCOUNTS.indexOf(key) + 1,
      kind: key,
      user_id: null,
      balance: 0n,
    };
    db.rows.accounts.put(tx, key, row);
    return row;
  });
};

const setBalance: Statement = (db, tx, [id, balance]) => {
  const row = db.rows.accounts.all(tx).find((account) => account.id === Number(id));
  if (!row) return [];
  const key = row.user_id === null ? row.kind : `wallet:${row.user_id}`;
  db.rows.accounts.put(tx, key, { ...row, balance: BigInt(String(balance)) });
  return [];
};

const insertEntry: Statement = (db, tx, [transaction, account, amount]) => {
  db.rows.postingEntries.put(tx, db.rows.postingEntries.nextId(), {
    account: Number(account),
    transaction: Number(transaction),
    amount: BigInt(String(amount)),
  });
  return [];
};

const bookedRefund: Statement = ({ rows }, tx, [reference]) => {
  const posting = rows.postings.get(tx, `refund:${String(reference)}`);
  return rows.postingEntries
    .all(tx)
    .filter(({ transaction, amount }) => transaction === posting?.id && amount > 0n)
    .map(({ amount }) => ({ amount: String(amount) }));
};

export const LEDGER_STATEMENTS: readonly (readonly [string, Statement])[] = [
  ['INSERT INTO ledger_transactions', open],
  ['INSERT INTO ledger_accounts', makeWallets],
  ['FROM ledger_accounts WHERE user_id = ANY($1) OR kind = ANY($2)', lockAccounts],
  ['UPDATE ledger_accounts SET balance', setBalance],
  ['INSERT INTO ledger_entries', insertEntry],
  ['SELECT e.amount FROM ledger_transactions l JOIN ledger_entries e', bookedRefund],
  // No account is deleted in a simulation.
  ['SELECT 1 FROM users WHERE id = $1 AND deleted_at IS NOT NULL', () => []],
];
