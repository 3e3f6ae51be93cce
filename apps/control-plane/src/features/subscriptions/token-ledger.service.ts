import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { consumeLots, consumedTokens, refillLots, withdrawFromLots } from './token-lots.sql.ts';
import { moveTokens, repaymentOf, withdrawTokens, type TokenMovement } from './token-movement.ts';
import { prepared } from '../../platform/database/prepared.ts';
import { send } from '../../platform/database/transactions.ts';

export type CreditKind = 'subscribe' | 'renew' | 'auto_recharge' | 'grant';
/** Names corrections that change Redis alone, because PostgreSQL is right already: usage that Redis has not seen, and the repair of a drift. */
export type CorrectionKind = 'late_usage' | 'reconciliation';

const text = z.string().transform(Number).pipe(z.number().int());
const tokensRow = z.object({ tokens: text });
const lockedRow = z
  .object({
    id: z.number(),
    user_id: z.number(),
    model_id: z.number(),
    status: z.enum(['active', 'closing', 'closed']),
    balance: text,
    overdraft: text,
    credit_seq: text,
    generation: z.number(),
    withdrawal_id: z.string().nullable(),
  })
  .transform((row) => ({
    id: row.id,
    userId: row.user_id,
    modelId: row.model_id,
    status: row.status,
    balance: row.balance,
    overdraft: row.overdraft,
    creditSeq: row.credit_seq,
    generation: row.generation,
    withdrawalId: row.withdrawal_id,
  }));

/** Holds a subscription's ledger while its row is locked. The service keeps the object equal to the row. */
export type LockedSubscription = z.output<typeof lockedRow>;

interface Posting {
  readonly kind: 'credit' | 'usage' | 'withdrawal';
  readonly reference: string;
}

interface Move {
  readonly subscription: LockedSubscription;
  readonly movement: TokenMovement;
}

const POST = prepared(`
  WITH moved AS (
    SELECT * FROM unnest($3::int[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[]) AS m(id, delta, overdrawn, balance, overdraft)),
  entries AS (
    INSERT INTO token_entries (subscription_id, kind, reference, delta, balance_after)
    SELECT id, $1, $2, delta, balance FROM moved WHERE delta <> 0),
  overdrafts AS (
    INSERT INTO token_overdrafts (subscription_id, reference, tokens)
    SELECT id, $2, overdrawn FROM moved WHERE overdrawn <> 0)
  UPDATE subscriptions s SET balance = m.balance, overdraft = m.overdraft, updated_at = now() FROM moved m WHERE s.id = m.id`);

/**
 * Keeps the token ledger of subscriptions. Only this class changes balance, lots, entries and overdraft, and it changes them together. After every
 * method: balance == sum(lots.remaining) == sum(entries.delta); overdraft == sum(token_overdrafts).
 */
@Injectable()
export class TokenLedger {
  /** Locks rows in id order, so that transactions do not deadlock. The result omits unknown ids. */
  async lock(tx: EntityManager, ids: readonly number[]): Promise<Map<number, LockedSubscription>> {
    const rows: unknown[] = await tx.query(
      prepared(`SELECT id, user_id, model_id, status, balance, overdraft, credit_seq, generation, withdrawal_id
       FROM subscriptions WHERE id = ANY($1::int[]) ORDER BY id FOR UPDATE`),
      [ids],
    );
    return new Map(rows.map((row) => lockedRow.parse(row)).map((row) => [row.id, row]));
  }

  async lockOne(tx: EntityManager, id: number): Promise<LockedSubscription> {
    const row = (await this.lock(tx, [id])).get(id);
    if (!row) throw new Error(`subscription ${id} does not exist`);
    return row;
  }

  /** Returns the unused free tokens of all subscriptions of an account. */
  async unspentFreeTokens(tx: EntityManager, userId: number): Promise<number> {
    const rows: unknown[] = await tx.query(
      `SELECT coalesce(sum(l.remaining), 0)::text AS tokens FROM token_lots l JOIN subscriptions s ON s.id = l.subscription_id
       WHERE s.user_id = $1 AND l.remaining > 0 AND l.cost = 0`,
      [userId],
    );
    return tokensRow.parse(rows[0]).tokens;
  }

  /** Returns the tokens that were refunded of a subscription since its last purchase. */
  async refundedSincePurchase(tx: EntityManager, subscriptionId: number): Promise<number> {
    const rows: unknown[] = await tx.query(
      `SELECT coalesce(-sum(delta), 0)::text AS tokens FROM token_entries WHERE subscription_id = $1 AND kind = 'withdrawal'
       AND id > coalesce((SELECT max(id) FROM token_entries WHERE subscription_id = $1 AND kind = 'credit'), 0)`,
      [subscriptionId],
    );
    return tokensRow.parse(rows[0]).tokens;
  }

  /** Debits a batch of usage, with one delta (net charged tokens) per subscription. */
  async charge(
    tx: EntityManager,
    reference: string,
    deltas: ReadonlyMap<number, number>,
    locked: ReadonlyMap<number, LockedSubscription>,
  ): Promise<void> {
    const consumed = await consumedTokens(
      tx,
      [...deltas].filter(([, delta]) => delta < 0).map(([id]) => id),
    );
    const moves = [...deltas].map(([id, delta]) => {
      const subscription = locked.get(id);
      if (!subscription) throw new Error(`subscription ${id} is not locked`);
      return {
        subscription,
        movement: moveTokens({ ...subscription, consumed: consumed.get(id) ?? 0 }, delta),
      };
    });
    consumeLots(
      tx,
      moves.map(({ subscription, movement }) => ({
        subscriptionId: subscription.id,
        tokens: movement.fromBalance,
      })),
    );
    refillLots(
      tx,
      moves.map(({ subscription, movement }) => ({
        subscriptionId: subscription.id,
        tokens: 0 - movement.fromBalance,
      })),
    );
    this.post(tx, { kind: 'usage', reference }, moves);
  }

  /**
   * Books a purchase: the lot, the entry, and the next credit for Redis. `tokens` > 0; `cost` is in micro-units; `boughtAt` is the time that decided
   * its price.
   */
  async credit(
    tx: EntityManager,
    subscription: LockedSubscription,
    purchase: { tokens: number; cost: bigint; kind: CreditKind; boughtAt?: string },
  ): Promise<{ seq: number }> {
    const seq = subscription.creditSeq + 1;
    const repaid = repaymentOf(subscription, purchase.tokens);
    await tx.query('UPDATE subscriptions SET credit_seq = $2, updated_at = now() WHERE id = $1', [
      subscription.id,
      seq,
    ]);
    await tx.query(
      'INSERT INTO token_lots (subscription_id, credit_seq, tokens, remaining, cost, created_at) VALUES ($1, $2, $3, $4, $5, coalesce($6::timestamptz, now()))',
      [
        ...[subscription.id, seq, purchase.tokens, purchase.tokens - repaid],
        ...[purchase.cost.toString(), purchase.boughtAt ?? null],
      ],
    );
    await tx.query(
      'INSERT INTO token_credits (subscription_id, seq, delta, kind) VALUES ($1, $2, $3, $4)',
      [subscription.id, seq, purchase.tokens, purchase.kind],
    );
    subscription.creditSeq = seq;
    this.post(tx, { kind: 'credit', reference: `credit:${seq}` }, [
      { subscription, movement: { fromBalance: -purchase.tokens, overdraft: 0 } },
    ]);
    if (repaid > 0) {
      this.post(tx, { kind: 'usage', reference: `overdraft:${seq}` }, [
        { subscription, movement: { fromBalance: repaid, overdraft: -repaid } },
      ]);
    }
    return { seq };
  }

  /** Changes Redis by `delta` tokens towards the ledger, which does not change. */
  async correctLive(
    tx: EntityManager,
    subscription: LockedSubscription,
    { delta, kind }: { delta: number; kind: CorrectionKind },
  ): Promise<void> {
    subscription.creditSeq += 1;
    await tx.query('UPDATE subscriptions SET credit_seq = $2, updated_at = now() WHERE id = $1', [
      subscription.id,
      subscription.creditSeq,
    ]);
    await tx.query(
      'INSERT INTO token_credits (subscription_id, seq, delta, kind) VALUES ($1, $2, $3, $4)',
      [subscription.id, subscription.creditSeq, delta, kind],
    );
  }

  /**
   * Takes withdrawn tokens out of the newest lots. Usage takes the oldest lots, so usage that is still on its way and withdrawals do not change each
   * other's lots in any order. Returns the refund in micro-units: the withdrawn share of each lot's cost, rounded down per lot.
   */
  async withdraw(
    tx: EntityManager,
    subscription: LockedSubscription,
    { reference, tokens }: { reference: string; tokens: number },
  ): Promise<{ refund: bigint }> {
    const consumed =
      tokens > subscription.balance
        ? ((await consumedTokens(tx, [subscription.id])).get(subscription.id) ?? 0)
        : 0;
    const { reclaimed, uncovered } = withdrawTokens(
      { balance: subscription.balance, consumed },
      tokens,
    );
    if (reclaimed > 0) {
      refillLots(tx, [{ subscriptionId: subscription.id, tokens: reclaimed }]);
      this.post(tx, { kind: 'usage', reference: `reclaimed:${reference}` }, [
        { subscription, movement: { fromBalance: -reclaimed, overdraft: reclaimed } },
      ]);
    }
    const refund = await withdrawFromLots(tx, subscription.id, tokens - uncovered);
    this.post(tx, { kind: 'withdrawal', reference }, [
      { subscription, movement: { fromBalance: tokens - uncovered, overdraft: uncovered } },
    ]);
    return { refund };
  }

  /** Changes balance and overdraft, each with its append-only entry. No other method does. */
  private post(tx: EntityManager, { kind, reference }: Posting, moves: readonly Move[]): void {
    for (const { subscription, movement } of moves) {
      subscription.balance -= movement.fromBalance;
      subscription.overdraft += movement.overdraft;
    }
    send(tx, POST, [
      kind,
      reference,
      moves.map((move) => move.subscription.id),
      moves.map((move) => 0 - move.movement.fromBalance),
      moves.map((move) => move.movement.overdraft),
      moves.map((move) => move.subscription.balance),
      moves.map((move) => move.subscription.overdraft),
    ]);
  }
}
