import { divideFloor } from '@tollgate/money';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';
import { prepared } from '../../platform/database/prepared.ts';
import { send } from '../../platform/database/transactions.ts';

interface LotDemand {
  subscriptionId: number;
  tokens: number;
}

/** Takes usage out of the oldest lots first. It skips demands of zero or less. The subscriptions are locked. */
export function consumeLots(tx: EntityManager, demands: readonly LotDemand[]): void {
  const wanted = demands.filter((demand) => demand.tokens > 0);
  if (wanted.length === 0) return;
  send(
    tx,
    prepared(`WITH wanted AS (SELECT * FROM unnest($1::int[], $2::bigint[]) AS w(subscription_id, tokens)),
     open AS (
       SELECT l.id, l.remaining, w.tokens, sum(l.remaining) OVER (PARTITION BY l.subscription_id ORDER BY l.id) - l.remaining AS before
       FROM token_lots l JOIN wanted w ON w.subscription_id = l.subscription_id WHERE l.remaining > 0)
     UPDATE token_lots l SET remaining = l.remaining - least(open.remaining, open.tokens - open.before)
     FROM open WHERE l.id = open.id AND open.before < open.tokens`),
    [wanted.map((demand) => demand.subscriptionId), wanted.map((demand) => demand.tokens)],
  );
}

/** Puts a correction's tokens back into the lots from which usage took them last. */
export function refillLots(tx: EntityManager, demands: readonly LotDemand[]): void {
  const wanted = demands.filter((demand) => demand.tokens > 0);
  if (wanted.length === 0) return;
  send(
    tx,
    `WITH wanted AS (SELECT * FROM unnest($1::int[], $2::bigint[]) AS w(subscription_id, tokens)),
     used AS (
       SELECT l.id, l.tokens - l.remaining - l.withdrawn AS room, w.tokens,
         sum(l.tokens - l.remaining - l.withdrawn) OVER (PARTITION BY l.subscription_id ORDER BY l.id DESC) - (l.tokens - l.remaining - l.withdrawn) AS before
       FROM token_lots l JOIN wanted w ON w.subscription_id = l.subscription_id WHERE l.tokens > l.remaining + l.withdrawn)
     UPDATE token_lots l SET remaining = l.remaining + least(used.room, used.tokens - used.before)
     FROM used WHERE l.id = used.id AND used.before < used.tokens`,
    [wanted.map((demand) => demand.subscriptionId), wanted.map((demand) => demand.tokens)],
  );
}

/** Returns the tokens that usage has taken from the lots of each subscription, which a correction can put back. */
export async function consumedTokens(
  tx: EntityManager,
  subscriptionIds: readonly number[],
): Promise<Map<number, number>> {
  if (subscriptionIds.length === 0) return new Map();
  const rows: { subscription_id: number; consumed: string }[] = await tx.query(
    'SELECT subscription_id, sum(tokens - remaining - withdrawn)::bigint AS consumed FROM token_lots WHERE subscription_id = ANY($1::int[]) GROUP BY subscription_id',
    [subscriptionIds],
  );
  return new Map(rows.map((row) => [row.subscription_id, toSafeInteger(row.consumed)]));
}

const bigint = z.string().transform(BigInt);
const openLot = z.object({
  id: z.string(),
  tokens: bigint,
  remaining: bigint,
  withdrawn: bigint,
  cost: bigint,
  refunded: bigint,
});

type OpenLot = z.output<typeof openLot>;

interface LotWithdrawal {
  id: string;
  taken: bigint;
  withdrawn: bigint;
  refunded: bigint;
}

/**
 * Takes `tokens` out of the newest lots and returns the refund. The refund follows from the total withdrawn of each lot, so many small withdrawals
 * never pay more than one large one.
 */
export async function withdrawFromLots(
  tx: EntityManager,
  subscriptionId: number,
  tokens: number,
): Promise<bigint> {
  const { withdrawals, refund } = planWithdrawal(await openLots(tx, subscriptionId), tokens);
  for (const { id, taken, withdrawn, refunded } of withdrawals)
    await tx.query(
      'UPDATE token_lots SET remaining = remaining - $2, withdrawn = $3, refunded = $4 WHERE id = $1',
      [id, taken.toString(), withdrawn.toString(), refunded.toString()],
    );
  return refund;
}

/** Computes the refund rule: the whole refund of a lot from which this many tokens have been withdrawn, in micro-units. */
function refundedFor(
  { cost, tokens }: Pick<OpenLot, 'cost' | 'tokens'>,
  withdrawn: bigint,
): bigint {
  return divideFloor(cost * withdrawn, tokens);
}

/** Computes the refund rule in SQL: the further refund of a lot `l` when all its remaining tokens are withdrawn. */
const REFUND_OF_REST = 'div(l.cost::numeric * (l.withdrawn + l.remaining), l.tokens) - l.refunded';

/** Computes the refund that `withdrawFromLots` would pay now. */
export async function refundOf(
  tx: EntityManager,
  subscriptionId: number,
  tokens: number,
): Promise<bigint> {
  return planWithdrawal(await openLots(tx, subscriptionId), tokens).refund;
}

/** Holds the refund of every subscription of a model, by the ledger. */
export interface RefundOfAll {
  subscriptions: number;
  tokens: number;
  refundMicros: bigint;
}

const REFUND_OF_ALL = `
  SELECT count(DISTINCT s.id) AS subscriptions, coalesce(sum(l.remaining), 0)::text AS tokens,
    coalesce(sum(${REFUND_OF_REST}), 0)::text AS refund
  FROM subscriptions s LEFT JOIN token_lots l ON l.subscription_id = s.id AND l.remaining > 0
  WHERE s.model_id = $1 AND s.status <> 'closed'`;
const refundOfAllRow = z.object({
  subscriptions: z.coerce.number(),
  tokens: z.string().transform(toSafeInteger),
  refund: z.string().transform(BigInt),
});

/** Returns the refund that `withdrawFromLots` would pay now for all subscriptions of a model. */
export async function refundOfModel(tx: EntityManager, modelId: number): Promise<RefundOfAll> {
  const rows: unknown[] = await tx.query(REFUND_OF_ALL, [modelId]);
  const { refund, ...counts } = refundOfAllRow.parse(rows[0]);
  return { ...counts, refundMicros: refund };
}

/** Returns the lots with remaining tokens, newest first. */
async function openLots(tx: EntityManager, subscriptionId: number): Promise<OpenLot[]> {
  const rows: unknown[] = await tx.query(
    'SELECT id, tokens, remaining, withdrawn, cost, refunded FROM token_lots WHERE subscription_id = $1 AND remaining > 0 ORDER BY id DESC',
    [subscriptionId],
  );
  return rows.map((row) => openLot.parse(row));
}

function planWithdrawal(
  lots: readonly OpenLot[],
  tokens: number,
): { withdrawals: LotWithdrawal[]; refund: bigint } {
  const withdrawals: LotWithdrawal[] = [];
  let wanted = BigInt(tokens);
  let refund = 0n;
  for (const lot of lots) {
    if (wanted === 0n) break;
    const taken = lot.remaining < wanted ? lot.remaining : wanted;
    const withdrawn = lot.withdrawn + taken;
    const refunded = refundedFor(lot, withdrawn);
    withdrawals.push({ id: lot.id, taken, withdrawn, refunded });
    wanted -= taken;
    refund += refunded - lot.refunded;
  }
  return { withdrawals, refund };
}
