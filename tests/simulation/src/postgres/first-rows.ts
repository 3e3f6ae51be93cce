import { mapFields, WEIGHT_FIELDS } from '@tollgate/contracts';
import type { PriceVersion } from '@tollgate/snapshot';
import type { Transactions } from '../../../../apps/control-plane/src/platform/database/transactions.ts';
import type { ModelPostgres } from './model-postgres.ts';
import { walletId } from './ledger-statements.ts';
import type { ModelTransaction } from './transaction.ts';

export interface Subscription {
  id: number;
  accountId: number;
  keyHash: string;
  keyId: number;
  /** Is null where it is off. */
  autoRecharge: { threshold: number; amount: number } | null;
}

export const MODEL_ID = 10;
export const MODEL_NAME = 'model';
/** Lists dearer services, in millionths. */
export const PREMIUMS = ['service_tier=priority', 'speed=fast'] as const;
export const FIRST_PRICE = {
  weight_input: 500_000,
  weight_output: 2_000_000,
  weight_cache_read: 500_000,
  weight_cache_write: 500_000,
  multipliers: { 'service_tier=priority': 1_750_000, 'speed=fast': 2_300_000 },
};
const FIRST_TOKENS = 60_000;
/** Is the first price in micro-units. */
const TOKEN_PRICE = 3n;
/** Is the first balance of each account in micro-units: enough for some purchases, not for all. */
export const FIRST_WALLET = 400_000n;
const AUTO_RECHARGES = [
  { threshold: 20_000, amount: 15_000 },
  // The balance is so small that requests wait for a purchase.
  { threshold: 300, amount: 3_000 },
  null,
];
/** Is the number modulo which ids of account, subscription, key and model of each differ: a shard looked up by another id than the account's is another shard. */
export const SHARDS = 5;
/** Lists accounts with a key and a subscription each. */
export const FIRST_SUBSCRIPTIONS: readonly Subscription[] = [
  { accountId: 1, id: 22, keyId: 33 },
  { accountId: 2, id: 23, keyId: 34 },
  { accountId: 3, id: 24, keyId: 36 },
].map(({ accountId, ...ids }) => ({
  ...ids,
  accountId,
  keyHash: accountId.toString(16).padStart(64, 'a'),
  autoRecharge: AUTO_RECHARGES[accountId - 1] ?? null,
}));
const COST = BigInt(FIRST_TOKENS) * TOKEN_PRICE;

/** Returns the micro-units that a million charged tokens cost at that moment. */
export function priceInForce({ rows }: ModelPostgres, atMs: number, tx?: ModelTransaction): bigint {
  const newest = (tx ? rows.prices.all(tx) : rows.prices.committed())
    .filter((row) => row.effective_at <= atMs)
    .toSorted((a, b) => b.effective_at - a.effective_at || b.id - a.id);
  return newest[0]?.price_per_million ?? 0n;
}

/** A class without a weight of its own is charged by its parent's. */
export function pricesRow({ id, multipliers = {}, tiers = [], ...price }: PriceVersion) {
  const weights = mapFields(WEIGHT_FIELDS, price, (weight) =>
    weight === undefined ? null : String(weight),
  );
  const sold = { price_per_million: TOKEN_PRICE * 1_000_000n, is_free: false, effective_at: 0 };
  return { id, model_id: MODEL_ID, weights, multipliers, tiers, ...sold };
}

export function fillSubscription(
  { rows }: ModelPostgres,
  tx: ModelTransaction,
  { id, accountId, keyHash, keyId, autoRecharge }: Subscription,
  nowMs: number,
): void {
  const wallet = { kind: 'wallet', user_id: accountId, balance: FIRST_WALLET };
  rows.accounts.put(tx, `wallet:${accountId}`, { id: walletId(rows), ...wallet });
  rows.users.put(tx, accountId, {
    id: accountId,
    status: 'active',
    drain: false,
    revision: 1,
    updated_at: nowMs,
  });
  rows.keys.put(tx, keyId, {
    id: keyId,
    user_id: accountId,
    key_hash: keyHash,
    updated_at: nowMs,
  });
  rows.subscriptions.put(tx, id, {
    id,
    user_id: accountId,
    model_id: MODEL_ID,
    status: 'active',
    balance: FIRST_TOKENS,
    overdraft: 0,
    credit_seq: 1,
    generation: 1,
    withdrawal_id: null,
    drain: false,
    revision: 1,
    revised_at: nowMs,
    auto_recharge_threshold: autoRecharge?.threshold ?? null,
    auto_recharge_amount: autoRecharge?.amount ?? null,
    auto_recharge_retry_at: null,
    auto_recharge_failures: 0,
    auto_recharge_refusal: null,
  });
  const lot = rows.lots.nextId();
  rows.lots.put(tx, lot, {
    id: lot,
    subscription_id: id,
    credit_seq: 1,
    tokens: FIRST_TOKENS,
    remaining: FIRST_TOKENS,
    withdrawn: 0,
    cost: COST,
    refunded: 0n,
  });
  rows.credits.put(tx, `${id}:1`, {
    subscription_id: id,
    seq: 1,
    delta: FIRST_TOKENS,
    kind: 'subscribe',
    created_at: 0,
  });
  rows.entries.put(tx, `${id}:credit:1`, {
    subscription_id: id,
    kind: 'credit',
    reference: 'credit:1',
    delta: FIRST_TOKENS,
    balance_after: FIRST_TOKENS,
  });
}

/** Inserts the same rows into a PostgreSQL with the product's schema. */
export async function fillServer(
  server: Pick<ConstructorParameters<typeof Transactions>[0], 'query'>,
): Promise<void> {
  await server.query(
    `INSERT INTO models (id, name, display_name, is_on_shelf) OVERRIDING SYSTEM VALUE VALUES ($1, $2, 'Model', true)`,
    [MODEL_ID, MODEL_NAME],
  );
  await server.query(
    `INSERT INTO price_versions (id, model_id, effective_at, price_per_million, weight_input, weight_output, weight_cache_read, weight_cache_write)
     OVERRIDING SYSTEM VALUE VALUES (1, $1, to_timestamp(0), 3000000, 500000, 2000000, 500000, 500000)`,
    [MODEL_ID],
  );
  for (const { id, accountId, keyHash, keyId, autoRecharge } of FIRST_SUBSCRIPTIONS) {
    await server.query(
      `INSERT INTO users (id, username, password_hash, status) OVERRIDING SYSTEM VALUE VALUES ($1::int, 'user' || $1, 'x', 'active')`,
      [accountId],
    );
    await server.query(
      `INSERT INTO api_keys (id, user_id, name, key_hash, key_prefix) OVERRIDING SYSTEM VALUE VALUES ($1, $2, 'key', $3, 'p')`,
      [keyId, accountId, keyHash],
    );
    await server.query(
      `INSERT INTO subscriptions (id, user_id, model_id, balance, credit_seq, auto_recharge_threshold, auto_recharge_amount) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, 1, $5, $6)`,
      [
        ...[id, accountId, MODEL_ID, FIRST_TOKENS],
        ...[autoRecharge?.threshold ?? null, autoRecharge?.amount ?? null],
      ],
    );
    await server.query(
      "INSERT INTO ledger_accounts (kind, user_id, balance) VALUES ('wallet', $1, $2)",
      [accountId, FIRST_WALLET.toString()],
    );
    await server.query(
      'INSERT INTO token_lots (subscription_id, credit_seq, tokens, remaining, cost) VALUES ($1, 1, $2, $2, $3)',
      [id, FIRST_TOKENS, COST.toString()],
    );
    await server.query(
      "INSERT INTO token_credits (subscription_id, seq, delta, kind) VALUES ($1, 1, $2, 'subscribe')",
      [id, FIRST_TOKENS],
    );
    await server.query(
      "INSERT INTO token_entries (subscription_id, kind, reference, delta, balance_after) VALUES ($1, 'credit', 'credit:1', $2, $2)",
      [id, FIRST_TOKENS],
    );
  }
}
