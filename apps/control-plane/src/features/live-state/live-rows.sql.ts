import { Injectable } from '@nestjs/common';
import { limitFields } from '@tollgate/contracts';
import { DataSource, type EntityManager } from 'typeorm';
import { z } from 'zod';
import { storedLimits, toSafeInteger } from '../../platform/database/columns.ts';
import { storedRates } from '../../platform/openapi/rate-field.ts';
import { prepared } from '../../platform/database/prepared.ts';

const integer = z.union([z.string(), z.number()]).transform(toSafeInteger);

const accountRow = z
  .object({
    id: z.number(),
    status: z.string(),
    drain: z.boolean(),
    revision: integer,
    budgets: z.string(),
    rates: storedRates,
  })
  .transform(({ id, ...row }) => ({ accountId: id, ...row }));

const keyRow = z
  .object({
    id: z.number(),
    user_id: z.number(),
    key_hash: z.string(),
    status: z.enum(['enabled', 'disabled', 'deleted']),
    expires_at: z.date().nullable(),
    in_force: storedLimits,
    counts_cache_reads: z.boolean(),
    rates: storedRates,
    allowed_models: z.string(),
    ip_allowlist: z.string(),
    drain: z.boolean(),
    revision: integer,
    budgets: z.string(),
  })
  .transform((row) => ({
    id: row.id,
    accountId: row.user_id,
    keyHash: row.key_hash,
    status: row.status,
    expiresAtMs: row.expires_at?.getTime() ?? 0,
    ...limitFields((name) => row.in_force[name] ?? 0),
    countsCacheReads: row.counts_cache_reads,
    rates: row.rates,
    allowedModels: row.allowed_models,
    ipAllowlist: row.ip_allowlist,
    drain: row.drain,
    revision: row.revision,
    budgets: row.budgets,
  }));

const subscriptionRow = z
  .object({
    id: z.number(),
    user_id: z.number(),
    model_id: z.number(),
    status: z.enum(['active', 'closing', 'closed']),
    generation: z.number(),
    drain: z.boolean(),
    revision: integer,
    withdrawal_id: z.string().nullable(),
    balance: integer,
    overdraft: integer,
    credit_seq: integer,
    armed_threshold: integer.nullable(),
    armed_amount: integer.nullable(),
  })
  .transform((row) => ({
    id: row.id,
    userId: row.user_id,
    modelId: row.model_id,
    status: row.status,
    generation: row.generation,
    drain: row.drain,
    revision: row.revision,
    withdrawalId: row.withdrawal_id,
    balance: row.balance,
    overdraft: row.overdraft,
    creditSeq: row.credit_seq,
    autoRecharge:
      row.armed_threshold === null || row.armed_amount === null
        ? null
        : { threshold: row.armed_threshold, amount: row.armed_amount },
  }));

const creditRow = z.object({ seq: integer, delta: integer });

export type AccountLiveRow = z.output<typeof accountRow>;
export type KeyLiveRow = z.output<typeof keyRow>;
export type SubscriptionLiveRow = z.output<typeof subscriptionRow>;

const budgetCountsRow = z.object({
  id: z.number(),
  used: z.array(
    z.object({ name: z.string(), value: z.string(), used: z.number(), ends: z.number() }),
  ),
});
const keyOfBudgetsRow = z
  .object({ id: z.number(), user_id: z.number() })
  .transform((row) => ({ id: row.id, userId: row.user_id }));
export type KeyOfBudgets = z.output<typeof keyOfBudgetsRow>;

/** Selects the budgets in the form that `budgets.lua` of libs/keyspace reads. Late usage, which Redis does not count, lowers the limit of its period. */
const budgetsWhere = (condition: string): string => `
  coalesce((SELECT json_agg(json_build_array(b.id, b.unit, b.amount,
      (SELECT string_agg(lpad(start::text, 10, '0'), '' ORDER BY start) FROM unnest(b.starts) start), b.models, b.action,
      coalesce((SELECT json_object_agg(p.started_at, p.granted - p.late ORDER BY p.started_at) FROM budget_periods p
        WHERE p.budget_id = b.id AND p.started_at >= b.starts[1] AND (b.window_minutes IS NULL OR p.started_at > extract(epoch FROM now()) - 60 * b.window_minutes) AND p.value = '' AND p.granted <> p.late), '{}'),
      CASE b.each WHEN 'session' THEN 's' WHEN 'end_user' THEN 'u' ELSE '' END, b.requires_value::int, coalesce(b.window_minutes, 0)) ORDER BY b.id)::text
    FROM budgets b WHERE ${condition} AND b.of = 'usage' AND b.deleted_at IS NULL), '')`;
const BUDGETS_OF_ID = 'coalesce(api_keys.budgets_of_id, api_keys.id)';

const ACCOUNTS = `SELECT id, status, drain, revision, ${budgetsWhere('b.user_id = users.id AND b.key_id IS NULL')} AS budgets, rates FROM users`;
/** Requests of this many periods, the current one included, may still run. */
const COUNTED_PERIODS = 3;
/** Selects the use that Redis must count, by budget and period. */
const BUDGET_COUNTS = `
  SELECT users.id, (SELECT json_agg(json_build_object('name', b.id || ':' || p.started_at, 'value', p.value,
      'used', CASE WHEN p.value = '' THEN p.used - p.late ELSE p.used END,
      'ends', coalesce(p.started_at + 60 * b.window_minutes, (SELECT min(start) FROM unnest(b.starts) start WHERE start > p.started_at), 0)))
    FROM budgets b, LATERAL (SELECT started_at, value, used, late FROM budget_periods WHERE budget_id = b.id AND (started_at IN
      (SELECT DISTINCT started_at FROM budget_periods WHERE budget_id = b.id ORDER BY started_at DESC LIMIT ${COUNTED_PERIODS})
      OR started_at > extract(epoch FROM now()) - 60 * b.window_minutes)) p
    WHERE b.user_id = users.id AND b.of = 'usage') AS used
  FROM (SELECT id FROM users WHERE EXISTS (SELECT FROM budgets b JOIN budget_periods p ON p.budget_id = b.id WHERE b.user_id = users.id AND b.of = 'usage')) users`;
/** Selects keys with the limits in force, under the ceilings of account and installation. */
const KEYS = `SELECT id, user_id, key_hash, status, expires_at, in_force, counts_cache_reads, rates, allowed_models, ip_allowlist, drain, revision,
   ${budgetsWhere(`b.key_id = ${BUDGETS_OF_ID}`)} AS budgets FROM api_keys JOIN key_limits ON key_limits.key_id = api_keys.id`;
/** Nodes may rely on auto-recharge when it is on and no purchase was refused since. */
const IS_ARMED = 'auto_recharge_amount > 0 AND auto_recharge_retry_at IS NULL';
const SUBSCRIPTIONS = `SELECT id, user_id, model_id, status, generation, drain, revision, withdrawal_id, balance, overdraft, credit_seq,
   CASE WHEN ${IS_ARMED} THEN least(auto_recharge_threshold, 9007199254740991) END AS armed_threshold,
   CASE WHEN ${IS_ARMED} THEN least(auto_recharge_amount, 9007199254740991) END AS armed_amount FROM subscriptions`;

/** Selects rows by id, or the next rows of a shard (account id modulo shards) after an id. */
type Which = readonly number[] | { shards: number; index: number; afterId: number; limit: number };

/** Reads the rows that have a live copy, of all features. It writes only the revisions of keys. */
@Injectable()
export class LiveRows {
  constructor(private readonly dataSource: DataSource) {}

  async accounts(which: Which): Promise<AccountLiveRow[]> {
    return (await this.select(ACCOUNTS, 'id', which)).map((row) => accountRow.parse(row));
  }

  async keys(which: Which): Promise<KeyLiveRow[]> {
    return (await this.select(KEYS, 'user_id', which)).map((row) => keyRow.parse(row));
  }

  async subscriptions(which: Which): Promise<SubscriptionLiveRow[]> {
    return (await this.select(SUBSCRIPTIONS, 'user_id', which)).map((row) =>
      subscriptionRow.parse(row),
    );
  }

  /** Omits accounts that have not used any budget. */
  async budgetCounts(which: Which): Promise<z.output<typeof budgetCountsRow>[]> {
    return (await this.select(BUDGET_COUNTS, 'id', which)).map((row) => budgetCountsRow.parse(row));
  }

  /** Returns whether the account has a key with this hash, whatever its status. */
  async hasKey({ keyHash, userId }: { keyHash: string; userId: number }): Promise<boolean> {
    const known: unknown[] = await this.dataSource.query(
      'SELECT 1 FROM api_keys WHERE key_hash = $1 AND user_id = $2',
      [keyHash, userId],
    );
    return known.length > 0;
  }

  async creditsAfter(subscriptionId: number, seq: number): Promise<z.output<typeof creditRow>[]> {
    const rows: unknown[] = await this.dataSource.query(
      'SELECT seq, delta FROM token_credits WHERE subscription_id = $1 AND seq > $2 ORDER BY seq',
      [subscriptionId, seq],
    );
    return rows.map((row) => creditRow.parse(row));
  }

  private select(
    select: string,
    accountColumn: 'id' | 'user_id',
    which: Which,
  ): Promise<unknown[]> {
    if ('index' in which) {
      return this.dataSource.query(
        `${select} WHERE ${accountColumn} % $1 = $2 AND id > $3 ORDER BY id LIMIT $4`,
        [which.shards, which.index, which.afterId, which.limit],
      );
    }
    return this.dataSource.query(prepared(`${select} WHERE id = ANY($1::int[])`), [which]);
  }
}

/** Returns the record for a Redis that lacks it: with the booked balance less overdraft. */
export function asOpened(row: SubscriptionLiveRow) {
  return {
    ...row,
    accountId: row.userId,
    // A record that carried the id of a future withdrawal would look withdrawn.
    withdrawalId: row.status === 'closing' ? null : row.withdrawalId,
    opening: { balance: row.balance - row.overdraft, creditSeq: row.creditSeq },
  };
}

/** Returns the key that owns the budgets of this key: the first of its rotations. Returns undefined where there is no such key. */
export async function keyOfBudgets(
  tx: Pick<EntityManager, 'query'>,
  keyId: number,
): Promise<KeyOfBudgets | undefined> {
  const rows: unknown[] = await tx.query(
    `SELECT ${BUDGETS_OF_ID} AS id, user_id FROM api_keys WHERE id = $1 AND status <> 'deleted'`,
    [keyId],
  );
  return rows.map((row) => keyOfBudgetsRow.parse(row))[0];
}

/** Maps each of these keys that a rotation made, deleted ones included, to the key that owns its budgets. */
export async function ownersOfBudgets(
  tx: Pick<EntityManager, 'query'>,
  keyIds: readonly number[],
): Promise<Map<number, number>> {
  if (keyIds.length === 0) return new Map();
  const rows: unknown[] = await tx.query(
    'SELECT id, budgets_of_id FROM api_keys WHERE id = ANY($1::int[]) AND budgets_of_id IS NOT NULL',
    [[...new Set(keyIds)]],
  );
  return new Map(
    rows
      .map((row) => z.object({ id: z.number(), budgets_of_id: z.number() }).parse(row))
      .map(({ id, budgets_of_id: ownerId }) => [id, ownerId]),
  );
}

/** Returns the key and its rotations, which share budgets; `keyId` is the first of them. */
export async function rotationsOf(
  tx: Pick<EntityManager, 'query'>,
  keyId: number,
): Promise<number[]> {
  const rows: unknown[] = await tx.query(
    'SELECT id FROM api_keys WHERE id = $1 OR budgets_of_id = $1',
    [keyId],
  );
  return rows.map((row) => z.object({ id: z.number() }).parse(row).id);
}

/** Raises the revision of an account whose budgets changed. */
export async function raiseAccount(tx: EntityManager, userId: number): Promise<void> {
  await tx.query('UPDATE users SET revision = revision + 1 WHERE id = $1', [userId]);
}

/** Raises the revisions of a key and its rotations, whose budgets changed. */
export async function raiseRotations(tx: EntityManager, keyId: number): Promise<number[]> {
  const [rows]: [{ id: number }[], number] = await tx.query(
    `UPDATE api_keys SET revision = revision + 1 WHERE id = $1 OR budgets_of_id = $1 RETURNING id`,
    [keyId],
  );
  return rows.map(({ id }) => id);
}

/** Raises the revisions of the keys of these accounts. Live records of deleted keys are kept for two days and compared with their rows until then. */
export async function raiseKeys(tx: EntityManager, userIds: readonly number[]): Promise<number[]> {
  const [rows]: [{ id: number }[], number] = await tx.query(
    `UPDATE api_keys SET revision = revision + 1 WHERE user_id = ANY($1::int[])
       AND (status <> 'deleted' OR deleted_at > now() - interval '3 days') RETURNING id`,
    [userIds],
  );
  return rows.map(({ id }) => id);
}
