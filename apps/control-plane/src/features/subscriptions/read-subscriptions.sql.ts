import type { DataSource } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';
import { prepared } from '../../platform/database/prepared.ts';

const integer = z.union([z.string(), z.number()]).transform(toSafeInteger);
const tokensRow = z
  .object({ count: integer, tokens: integer })
  .transform(({ count, tokens }) => ({ active: count, tokens }));

/** Returns the number of active subscriptions and their tokens. */
export async function activeTokens(
  dataSource: Pick<DataSource, 'query'>,
): Promise<z.output<typeof tokensRow>> {
  const rows: unknown[] = await dataSource.query(
    `SELECT count(*)::bigint AS count, least(coalesce(sum(balance), 0), ${Number.MAX_SAFE_INTEGER})::bigint AS tokens
     FROM subscriptions WHERE status = 'active'`,
  );
  return tokensRow.parse(rows[0]);
}

const countRow = z
  .object({ id: z.number(), count: z.number() })
  .transform((row): [number, number] => [row.id, row.count]);

/** Counts the active subscriptions of each of these models that has any. */
export async function countActive(
  dataSource: Pick<DataSource, 'query'>,
  modelIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const rows: unknown[] = await dataSource.query(
    "SELECT model_id AS id, count(*)::int AS count FROM subscriptions WHERE model_id = ANY($1::int[]) AND status = 'active' GROUP BY model_id",
    [modelIds],
  );
  return new Map(rows.map((row) => countRow.parse(row)));
}

export interface WithdrawalRef {
  id: string;
  subscriptionId: number;
}

const begunRow = z
  .object({ id: z.string(), subscription_id: z.number() })
  .transform((row) => ({ id: row.id, subscriptionId: row.subscription_id }));

/** Returns those of the withdrawals that their subscription has begun: its last one, or one in its token ledger. */
export async function readBegunWithdrawals(
  dataSource: Pick<DataSource, 'query'>,
  asked: readonly WithdrawalRef[],
): Promise<WithdrawalRef[]> {
  const rows: unknown[] = await dataSource.query(
    `SELECT w.id, w.subscription_id FROM unnest($1::uuid[], $2::int[]) AS w(id, subscription_id)
     WHERE EXISTS (SELECT FROM subscriptions s WHERE s.id = w.subscription_id AND s.withdrawal_id = w.id)
        OR EXISTS (SELECT FROM token_entries t WHERE t.subscription_id = w.subscription_id AND t.kind = 'withdrawal' AND t.reference = 'withdrawal:' || w.id || ':0')`,
    [asked.map(({ id }) => id), asked.map(({ subscriptionId }) => subscriptionId)],
  );
  return rows.map((row) => begunRow.parse(row));
}

export interface SubscriptionOwner {
  userId: number;
  modelId: number;
}

const ownerRow = z
  .object({ id: z.number(), user_id: z.number(), model_id: z.number() })
  .transform((row): [number, SubscriptionOwner] => [
    row.id,
    { userId: row.user_id, modelId: row.model_id },
  ]);

/** Returns the account and model of each existing subscription. They never change. */
export async function readSubscriptionOwners(
  dataSource: Pick<DataSource, 'query'>,
  ids: readonly number[],
): Promise<[number, SubscriptionOwner][]> {
  const rows: unknown[] = await dataSource.query(
    'SELECT id, user_id, model_id FROM subscriptions WHERE id = ANY($1::int[])',
    [ids],
  );
  return rows.map((row) => ownerRow.parse(row));
}

/** Returns the subscriptions of these accounts for these models, where they exist. */
export async function readOwnSubscriptions(
  dataSource: Pick<DataSource, 'query'>,
  owners: readonly SubscriptionOwner[],
): Promise<[number, SubscriptionOwner][]> {
  const rows: unknown[] = await dataSource.query(
    'SELECT s.id, s.user_id, s.model_id FROM subscriptions s JOIN unnest($1::int[], $2::int[]) AS v(user_id, model_id) USING (user_id, model_id)',
    [owners.map(({ userId }) => userId), owners.map(({ modelId }) => modelId)],
  );
  return rows.map((row) => ownerRow.parse(row));
}

const PAGE = 500;

/**
 * Selects closed subscriptions in which the ledger has tokens left, or of which the account recently used more than was left. An index serves this
 * condition.
 */
const UNSETTLED = `
  SELECT id, user_id, model_id FROM subscriptions
  WHERE status = 'closed' AND balance <> overdraft AND (balance > greatest(overdraft, 0) OR overdraft > 0 AND updated_at > now() - interval '1 day')
    AND id > $1 ORDER BY id LIMIT ${PAGE}`;
const refRow = z
  .object({ id: z.number(), user_id: z.number(), model_id: z.number() })
  .transform((row) => ({ id: row.id, accountId: row.user_id, modelId: row.model_id }));
const positionRow = z
  .object({
    id: z.number(),
    position: z.coerce.number(),
    credit_seq: z.coerce.number(),
    status: z.string(),
    generation: z.number(),
    revision: z.coerce.number(),
  })
  .transform(({ credit_seq: creditSeq, ...row }) => ({ ...row, creditSeq }));

type Ref = z.output<typeof refRow>;
type Source = Pick<DataSource, 'query'>;

/** Returns closed subscriptions that have tokens left, or were overdrawn within a day. */
export function unsettledPages(source: Source): AsyncGenerator<Ref[]> {
  return pages((afterId) => source.query(UNSETTLED, [afterId]));
}

/** Returns all subscriptions except closing ones, whose tokens are being withdrawn. */
export function openPages(source: Source): AsyncGenerator<Ref[]> {
  return pages((afterId) =>
    source.query(
      "SELECT id, user_id, model_id FROM subscriptions WHERE id > $1 AND status <> 'closing' ORDER BY id LIMIT $2",
      [afterId, PAGE],
    ),
  );
}

/** Returns the ledger's balance and the row of each subscription that is not closing. */
export async function positionsOf(
  source: Source,
  ids: readonly number[],
): Promise<ReadonlyMap<number, z.output<typeof positionRow>>> {
  const rows: unknown[] = await source.query(
    prepared(
      "SELECT id, balance - overdraft AS position, credit_seq, status, generation, revision FROM subscriptions WHERE id = ANY($1) AND status <> 'closing'",
    ),
    [ids],
  );
  return new Map(rows.map((row) => positionRow.parse(row)).map((row) => [row.id, row]));
}

async function* pages(read: (afterId: number) => Promise<unknown[]>): AsyncGenerator<Ref[]> {
  for (let afterId = 0; ;) {
    const page = (await read(afterId)).map((row) => refRow.parse(row));
    yield page;
    const last = page.at(-1);
    if (page.length < PAGE || !last) return;
    afterId = last.id;
  }
}
