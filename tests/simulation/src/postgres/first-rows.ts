import { WEIGHT_FIELDS } from '@tollgate/contracts';
import type { Transactions } from '../../../../apps/control-plane/src/platform/database/transactions.ts';
import type { ModelPostgres } from './model-postgres.ts';
import type { ModelTransaction } from './transaction.ts';

export interface Subscription {
  id: number;
  accountId: number;
  keyHash: string;
}

export const MODEL_ID = 3;
const FIRST_TOKENS = 60_000;
/** Accounts with a key and a subscription each. */
export const FIRST_SUBSCRIPTIONS: readonly Subscription[] = [1, 2, 3].map((accountId) => ({
  id: 10 + accountId,
  accountId,
  keyHash: accountId.toString(16).padStart(64, 'a'),
}));
const COST = BigInt(FIRST_TOKENS * 3);
/** Classes without a weight of their own are charged by their parent's. */
const NO_OWN_WEIGHTS = Object.fromEntries(WEIGHT_FIELDS.map((name) => [name, null]));

export function pricesRow(id: number, weightInput: number, weightOutput: number) {
  return {
    id,
    model_id: MODEL_ID,
    weights: {
      ...NO_OWN_WEIGHTS,
      weight_input: String(weightInput),
      weight_output: String(weightOutput),
      weight_cache_read: String(weightInput),
      weight_cache_write: String(weightInput),
    },
  };
}

export function fillSubscription(
  { rows }: ModelPostgres,
  tx: ModelTransaction,
  { id, accountId, keyHash }: Subscription,
  nowMs: number,
): void {
  rows.users.put(tx, accountId, {
    id: accountId,
    status: 'active',
    drain: false,
    revision: 1,
    updated_at: nowMs,
  });
  rows.keys.put(tx, accountId, {
    id: accountId,
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
    applied_at: null,
  });
  rows.entries.put(tx, `${id}:credit:1`, {
    subscription_id: id,
    kind: 'credit',
    reference: 'credit:1',
    delta: FIRST_TOKENS,
    balance_after: FIRST_TOKENS,
  });
}

/** The same rows in a PostgreSQL with the product's schema. */
export async function fillServer(
  server: Pick<ConstructorParameters<typeof Transactions>[0], 'query'>,
): Promise<void> {
  await server.query(
    `INSERT INTO models (id, name, display_name) OVERRIDING SYSTEM VALUE VALUES ($1, 'model', 'Model')`,
    [MODEL_ID],
  );
  await server.query(
    `INSERT INTO price_versions (id, model_id, price_per_million, weight_input, weight_output, weight_cache_read, weight_cache_write)
     OVERRIDING SYSTEM VALUE VALUES (1, $1, 3000000, 500000, 2000000, 500000, 500000)`,
    [MODEL_ID],
  );
  for (const { id, accountId, keyHash } of FIRST_SUBSCRIPTIONS) {
    await server.query(
      `INSERT INTO users (id, username, password_hash, status) OVERRIDING SYSTEM VALUE VALUES ($1::int, 'user' || $1, 'x', 'active')`,
      [accountId],
    );
    await server.query(
      `INSERT INTO api_keys (id, user_id, name, key_hash, key_prefix) OVERRIDING SYSTEM VALUE VALUES ($1, $1, 'key', $2, 'p')`,
      [accountId, keyHash],
    );
    await server.query(
      `INSERT INTO subscriptions (id, user_id, model_id, balance, credit_seq) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, 1)`,
      [id, accountId, MODEL_ID, FIRST_TOKENS],
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
