import { MODEL_ID, MODEL_NAME, priceInForce } from './first-rows.ts';
import type { ModelPostgres, Statement } from './model-postgres.ts';
import type { SubscriptionRow } from './rows.ts';
import type { ModelTransaction } from './transaction.ts';

const BACKOFF_FIRST_MS = 30_000;
const BACKOFF_DOUBLINGS_MAX = 7;
const SWEEP_ROWS = 1_000;
const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER);

function walletOf(db: ModelPostgres, tx: ModelTransaction, userId: number): bigint {
  return db.rows.accounts.get(tx, `wallet:${userId}`)?.balance ?? 0n;
}

/** Returns those that are switched on, active, and not backing off unless for want of money that the wallet has by now. Accounts and models stay usable. */
function candidates(db: ModelPostgres, tx: ModelTransaction): SubscriptionRow[] {
  const perMillion = priceInForce(db, tx.nowMs, tx);
  return db.rows.subscriptions
    .all(tx)
    .filter((row) => {
      const amount = BigInt(row.auto_recharge_amount ?? 0);
      if (row.status !== 'active' || amount <= 0n) return false;
      const retryAt = row.auto_recharge_retry_at;
      if (retryAt === null || retryAt <= tx.nowMs) return true;
      const cost = (amount * perMillion + 999_999n) / 1_000_000n;
      return (
        row.auto_recharge_refusal === 'insufficient_funds' && walletOf(db, tx, row.user_id) >= cost
      );
    })
    .toSorted((a, b) => a.id - b.id);
}

const byId: Statement = (db, tx, [ids]) =>
  candidates(db, tx)
    .filter(({ id }) => (ids as number[]).includes(id))
    .map((row) => {
      const price = BigInt(row.auto_recharge_amount ?? 0) * priceInForce(db, tx.nowMs, tx);
      const affordable = (walletOf(db, tx, row.user_id) * 1_000_000n) / price;
      return {
        ...row,
        model: MODEL_NAME,
        auto_recharge_threshold: String(row.auto_recharge_threshold),
        auto_recharge_amount: String(row.auto_recharge_amount),
        affordable: String(affordable < SAFE_MAX ? affordable : SAFE_MAX),
        is_held_back: row.auto_recharge_retry_at !== null,
      };
    });

const belowThreshold: Statement = (db, tx) =>
  candidates(db, tx)
    .filter((row) => row.balance - row.overdraft <= (row.auto_recharge_threshold ?? 0))
    .slice(0, SWEEP_ROWS)
    .map(({ id }) => ({ id }));

const refused: Statement = (db, tx, [users, models, needs]) =>
  db.rows.subscriptions
    .all(tx)
    .flatMap(({ id, user_id, auto_recharge_amount: amount }) =>
      (users as number[]).flatMap((user, index) =>
        user === user_id && (models as number[])[index] === MODEL_ID && (amount ?? 0) > 0
          ? [{ id, needed: String((needs as number[])[index]) }]
          : [],
      ),
    );

const change =
  (
    changes: (
      row: SubscriptionRow,
      tx: ModelTransaction,
      parameters: readonly unknown[],
    ) => Partial<SubscriptionRow>,
  ): Statement =>
  (db, tx, parameters) => {
    const id = Number(parameters[0]);
    const row = db.rows.subscriptions.get(tx, id) && db.rows.subscriptions.lock(tx, id);
    if (row) db.rows.subscriptions.put(tx, id, { ...row, ...changes(row, tx, parameters) });
    return [];
  };

const backOff = change((row, tx, [, refusal]) => ({
  auto_recharge_failures: row.auto_recharge_failures + 1,
  auto_recharge_refusal: String(refusal),
  auto_recharge_retry_at:
    tx.nowMs + BACKOFF_FIRST_MS * 2 ** Math.min(row.auto_recharge_failures, BACKOFF_DOUBLINGS_MAX),
  revision: row.revision + 1,
  revised_at: tx.nowMs,
}));

const heldBack: Statement = (db, tx, [userId, refusal]) =>
  db.rows.subscriptions
    .all(tx)
    .filter(
      (row) =>
        row.user_id === Number(userId) &&
        row.auto_recharge_retry_at !== null &&
        row.auto_recharge_refusal === refusal,
    )
    .toSorted((a, b) => a.id - b.id)
    .map(({ id }) => {
      db.rows.subscriptions.lock(tx, id);
      return { id };
    });

/** Writes the moment as PostgreSQL does. */
function timeText(ms: number): string {
  const text = new Date(ms).toISOString().replace('T', ' ');
  return `${text.replace(/\.?0*Z$/, '')}+00`;
}

export const RECHARGE_STATEMENTS: readonly (readonly [string, Statement])[] = [
  [
    'SELECT p.price_per_million, moment.at::text FROM moment',
    (db, tx) => [
      {
        price_per_million: String(priceInForce(db, db.nowMs, tx)),
        at: timeText(db.nowMs),
      },
    ],
  ],
  ['SELECT s.id, r.needed FROM subscriptions s JOIN unnest', refused],
  ['AND s.id = ANY($1::int[])', byId],
  ['AND s.balance - s.overdraft <= s.auto_recharge_threshold', belowThreshold],
  [
    'UPDATE subscriptions SET auto_recharge_failures = 0',
    change(() => ({ auto_recharge_failures: 0 })),
  ],
  ['UPDATE subscriptions SET auto_recharge_failures = auto_recharge_failures + 1', backOff],
  [
    'UPDATE subscriptions SET auto_recharge_retry_at = NULL, revision',
    change((row, tx) => ({
      auto_recharge_retry_at: null,
      revision: row.revision + 1,
      revised_at: tx.nowMs,
    })),
  ],
  [
    'SELECT id FROM subscriptions WHERE user_id = $1 AND auto_recharge_retry_at IS NOT NULL',
    heldBack,
  ],
];
