import { Injectable } from '@nestjs/common';
import { limitFields } from '@tollgate/contracts';
import { DataSource, type EntityManager } from 'typeorm';
import { z } from 'zod';
import { storedLimits, toSafeInteger } from '../../platform/database/columns.ts';
import { prepared } from '../../platform/database/prepared.ts';

const integer = z.union([z.string(), z.number()]).transform(toSafeInteger);

const accountRow = z
  .object({ id: z.number(), status: z.string(), drain: z.boolean(), revision: integer })
  .transform(({ id, ...row }) => ({ accountId: id, ...row }));

const keyRow = z
  .object({
    id: z.number(),
    user_id: z.number(),
    key_hash: z.string(),
    status: z.enum(['enabled', 'disabled', 'deleted']),
    expires_at: z.date().nullable(),
    in_force: storedLimits,
    allowed_models: z.string(),
    ip_allowlist: z.string(),
    drain: z.boolean(),
    revision: integer,
  })
  .transform((row) => ({
    id: row.id,
    accountId: row.user_id,
    keyHash: row.key_hash,
    status: row.status,
    expiresAtMs: row.expires_at?.getTime() ?? 0,
    ...limitFields((name) => row.in_force[name] ?? 0),
    allowedModels: row.allowed_models,
    ipAllowlist: row.ip_allowlist,
    drain: row.drain,
    revision: row.revision,
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

const ACCOUNTS = 'SELECT id, status, drain, revision FROM users';
/** Limits as they are in force: under the ceilings of account and installation. */
const KEYS = `SELECT id, user_id, key_hash, status, expires_at, in_force, allowed_models, ip_allowlist, drain, revision
   FROM api_keys JOIN key_limits ON key_limits.key_id = api_keys.id`;
/** Nodes may rely on auto-recharge: it is on, and no purchase was refused since. */
const IS_ARMED = 'auto_recharge_amount > 0 AND auto_recharge_retry_at IS NULL';
const SUBSCRIPTIONS = `SELECT id, user_id, model_id, status, generation, drain, revision, withdrawal_id, balance, overdraft, credit_seq,
   CASE WHEN ${IS_ARMED} THEN least(auto_recharge_threshold, 9007199254740991) END AS armed_threshold,
   CASE WHEN ${IS_ARMED} THEN least(auto_recharge_amount, 9007199254740991) END AS armed_amount FROM subscriptions`;

/** Which rows: by id, or the next ones of a shard (account id mod shards) after an id. */
type Which = readonly number[] | { shards: number; index: number; afterId: number; limit: number };

/** Reads the rows that have a live copy, across features. It writes the revisions of keys only. */
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

  /** Is true when the account has a key with this hash, whatever its status. */
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

/** For a record that Redis does not have: with the booked balance, less overdraft. */
export function asOpened(row: SubscriptionLiveRow) {
  return {
    ...row,
    accountId: row.userId,
    // A record that carried the id of a withdrawal that is not made yet would look withdrawn.
    withdrawalId: row.status === 'closing' ? null : row.withdrawalId,
    opening: { balance: row.balance - row.overdraft, creditSeq: row.creditSeq },
  };
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
