import { refusedRow } from '../../../../apps/control-plane/src/testing/refused-row.ts';
import type { Statement, ModelPostgres } from './model-postgres.ts';
import type { LotRow, SubscriptionRow } from './rows.ts';
import type { Table } from './table.ts';
import type { ModelTransaction } from './transaction.ts';

const number = (value: unknown): number => Number(value);
const numbers = (value: unknown): number[] => (value as unknown[]).map(Number);

function lotsOf(db: ModelPostgres, tx: ModelTransaction, subscriptionId: number): LotRow[] {
  return db.rows.lots
    .all(tx)
    .filter((lot) => lot.subscription_id === subscriptionId)
    .toSorted((a, b) => a.id - b.id);
}

/** Consumes lots, oldest first. */
const consumeLots: Statement = (db, tx, [ids, tokens]) => {
  for (const [index, id] of numbers(ids).entries()) {
    let wanted = number((tokens as unknown[])[index]);
    for (const lot of lotsOf(db, tx, id)) {
      const taken = Math.min(lot.remaining, wanted);
      if (taken > 0) db.rows.lots.put(tx, lot.id, { ...lot, remaining: lot.remaining - taken });
      wanted -= taken;
    }
  }
  return [];
};

/** Refills the lots from which usage took last. */
const refillLots: Statement = (db, tx, [ids, tokens]) => {
  for (const [index, id] of numbers(ids).entries()) {
    let wanted = number((tokens as unknown[])[index]);
    for (const lot of lotsOf(db, tx, id).toReversed()) {
      const put = Math.min(lot.tokens - lot.remaining - lot.withdrawn, wanted);
      if (put > 0) db.rows.lots.put(tx, lot.id, { ...lot, remaining: lot.remaining + put });
      wanted -= put;
    }
  }
  return [];
};

const consumedTokens: Statement = (db, tx, [ids]) =>
  numbers(ids).flatMap((id) => {
    const lots = lotsOf(db, tx, id);
    const consumed = lots.reduce((sum, lot) => sum + lot.tokens - lot.remaining - lot.withdrawn, 0);
    return lots.length > 0 ? [{ subscription_id: id, consumed: String(consumed) }] : [];
  });

const refundedSincePurchase: Statement = (db, tx, [id]) => {
  const own = db.rows.entries.all(tx).filter((row) => row.subscription_id === number(id));
  const since = own.slice(own.findLastIndex(({ kind }) => kind === 'credit') + 1);
  const refunds = since.filter(({ kind }) => kind === 'withdrawal');
  return [{ tokens: String(refunds.reduce((sum, { delta }) => sum - delta, 0)) }];
};

const openLots: Statement = (db, tx, [id]) =>
  lotsOf(db, tx, number(id))
    .filter((lot) => lot.remaining > 0)
    .toReversed()
    .map((lot) => ({
      id: String(lot.id),
      tokens: String(lot.tokens),
      remaining: String(lot.remaining),
      withdrawn: String(lot.withdrawn),
      cost: String(lot.cost),
      refunded: String(lot.refunded),
    }));

const withdrawFromLot: Statement = (db, tx, [id, taken, withdrawn, refunded]) => {
  const lot = db.rows.lots.lock(tx, number(id));
  if (lot)
    db.rows.lots.put(tx, lot.id, {
      ...lot,
      remaining: lot.remaining - number(taken),
      withdrawn: number(withdrawn),
      refunded: BigInt(String(refunded)),
    });
  return [];
};

const insertLot: Statement = (db, tx, [subscription, seq, tokens, remaining, cost]) => {
  const id = db.rows.lots.nextId();
  db.rows.lots.put(tx, id, {
    id,
    subscription_id: number(subscription),
    credit_seq: number(seq),
    tokens: number(tokens),
    remaining: number(remaining),
    withdrawn: 0,
    cost: BigInt(String(cost)),
    refunded: 0n,
  });
  return [];
};

const insertCredit: Statement = (db, tx, [subscription, seq, delta, kind]) => {
  db.rows.credits.put(tx, `${number(subscription)}:${number(seq)}`, {
    subscription_id: number(subscription),
    seq: number(seq),
    delta: number(delta),
    kind: String(kind),
    created_at: tx.nowMs,
  });
  return [];
};

const post: Statement = (
  db,
  tx,
  [kind, reference, ids, deltas, overdrawn, balances, overdrafts],
) => {
  for (const [index, id] of numbers(ids).entries()) {
    const [delta, tokens, balance, overdraft] = [deltas, overdrawn, balances, overdrafts].map(
      (list) => numbers(list)[index] ?? 0,
    ) as [number, number, number, number];
    change(db, tx, id, { balance, overdraft });
    if (delta !== 0)
      putNew(db.rows.entries, tx, `${id}:${String(kind)}:${String(reference)}`, {
        subscription_id: id,
        kind: String(kind),
        reference: String(reference),
        delta,
        balance_after: balance,
      });
    if (tokens !== 0)
      putNew(db.rows.overdrafts, tx, `${id}:${String(reference)}`, {
        subscription_id: id,
        reference: String(reference),
        tokens,
      });
  }
  return [];
};

function putNew<Row extends object>(
  table: Table<Row>,
  tx: ModelTransaction,
  key: string,
  row: Row,
): void {
  if (table.get(tx, key)) throw refusedRow(key);
  table.put(tx, key, row);
}

function change(
  db: ModelPostgres,
  tx: ModelTransaction,
  id: number,
  changes: Partial<SubscriptionRow>,
): void {
  const row = db.rows.subscriptions.lock(tx, id);
  if (row) db.rows.subscriptions.put(tx, id, { ...row, ...changes });
}

const lockSubscriptions: Statement = (db, tx, [ids]) =>
  [...new Set(numbers(ids))]
    .toSorted((a, b) => a - b)
    .flatMap((id) => {
      const row = db.rows.subscriptions.get(tx, id) && db.rows.subscriptions.lock(tx, id);
      return row
        ? [
            {
              ...row,
              balance: String(row.balance),
              overdraft: String(row.overdraft),
              credit_seq: String(row.credit_seq),
            },
          ]
        : [];
    });

const close: Statement = (db, tx, [id, withdrawalId]) => {
  const row = db.rows.subscriptions.lock(tx, number(id));
  if (row?.status === 'closing' && row.withdrawal_id === withdrawalId)
    change(db, tx, row.id, { status: 'closed', revision: row.revision + 1, revised_at: tx.nowMs });
  return [];
};

const startWithdrawals: Statement = (db, tx, [ids, withdrawals, drain]) => {
  for (const [index, id] of numbers(ids).entries()) {
    const row = db.rows.subscriptions.lock(tx, id);
    if (row)
      change(db, tx, id, {
        status: 'closing',
        withdrawal_id: (withdrawals as string[])[index] ?? null,
        drain: drain === true,
        revision: row.revision + 1,
        revised_at: tx.nowMs,
      });
  }
  return [];
};

/** Every account has had a subscription. */
const reopen: Statement = (db, tx, [userId, modelId, threshold, amount]) => {
  const known = db.rows.subscriptions
    .all(tx)
    .find((one) => one.user_id === number(userId) && one.model_id === number(modelId));
  const row = known && db.rows.subscriptions.lock(tx, known.id);
  if (row?.status !== 'closed') return [];
  change(db, tx, row.id, {
    status: 'active',
    generation: row.generation + 1,
    drain: false,
    revision: row.revision + 1,
    revised_at: tx.nowMs,
    auto_recharge_threshold: threshold as number | null,
    auto_recharge_amount: amount as number | null,
    auto_recharge_retry_at: null,
    auto_recharge_failures: 0,
  });
  return [{ id: row.id }];
};

const bookedWithdrawal: Statement = (db, tx, [id, withdrawalId, reference]) => {
  const row = db.rows.subscriptions.get(tx, number(id));
  if (!row) return [];
  const entry = db.rows.entries.get(tx, `${row.id}:withdrawal:${String(reference)}`);
  const isClosing = row.withdrawal_id === withdrawalId && row.status === 'closing';
  return [{ status: isClosing ? 'closing' : 'closed', tokens: String(-(entry?.delta ?? 0)) }];
};

export const TOKEN_STATEMENTS: readonly (readonly [string, Statement])[] = [
  ['UPDATE token_lots l SET remaining = l.remaining - least(', consumeLots],
  ['UPDATE token_lots l SET remaining = l.remaining + least(', refillLots],
  ['SELECT subscription_id, sum(tokens - remaining - withdrawn)', consumedTokens],
  ['SELECT coalesce(-sum(delta), 0)::text AS tokens FROM token_entries', refundedSincePurchase],
  ['SELECT id, tokens, remaining, withdrawn, cost, refunded FROM token_lots', openLots],
  ['UPDATE token_lots SET remaining = remaining - $2', withdrawFromLot],
  ['INSERT INTO token_lots', insertLot],
  ['INSERT INTO token_credits', insertCredit],
  ['INSERT INTO token_entries', post],
  [
    'UPDATE subscriptions SET credit_seq = $2',
    (db, tx, [id, seq]) => {
      change(db, tx, number(id), { credit_seq: number(seq) });
      return [];
    },
  ],
  ['FROM subscriptions WHERE id = ANY($1::int[]) ORDER BY id FOR UPDATE', lockSubscriptions],
  ["UPDATE subscriptions SET status = 'closed'", close],
  ["UPDATE subscriptions s SET status = 'closing'", startWithdrawals],
  ['INSERT INTO subscriptions (user_id, model_id', reopen],
  ['SELECT CASE WHEN s.withdrawal_id = $2', bookedWithdrawal],
];
