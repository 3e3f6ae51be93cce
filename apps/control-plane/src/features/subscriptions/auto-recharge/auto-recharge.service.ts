import { Inject, Injectable } from '@nestjs/common';
import type { FundsHint } from '@tollgate/contracts';
import { DataSource, type EntityManager } from 'typeorm';
import { z } from 'zod';
import { BackgroundService } from '../../../platform/background/background-service.ts';
import { toSafeInteger } from '../../../platform/database/columns.ts';
import { prepared } from '../../../platform/database/prepared.ts';
import { Transactions } from '../../../platform/database/transactions.ts';
import { Refusal } from '../../../platform/http/refusal.ts';
import { AlertsService } from '../../alerts/alerts.service.ts';
import { PurchaseBudgets, PurchaseNotCovered } from '../../budgets/purchase-budgets.service.ts';
import { LiveBalances, type LiveBalance } from '../../live-state/live-balances.ts';
import { LiveStateService } from '../../live-state/live-state.service.ts';
import { PurchasesService } from '../purchases.service.ts';
import { TokenLedger } from '../token-ledger.service.ts';

/** The sweep finds needs whose trigger was lost: a process died between settling and buying, or a wallet has been filled since. */
const SWEEP_EVERY_MS = 10_000;
const SWEEP_ROWS = 1_000;
/** A refused purchase is tried again after 30 s, then after 1, 2, 4 and more minutes. One that lacked only money is also tried when the wallet can pay. */
const BACKOFF_FIRST = '30 seconds';
const BACKOFF_DOUBLINGS_MAX = 7;
/** A need of more purchases than this is bought at once, so that a tiny amount with a huge threshold does not cause endless purchases. */
const SINGLE_PURCHASES_MAX = 10;

const integer = z.union([z.string(), z.number()]).transform(toSafeInteger);
const candidateRow = z
  .object({
    id: z.number(),
    user_id: z.number(),
    model_id: z.number(),
    model: z.string(),
    auto_recharge_threshold: integer,
    auto_recharge_amount: integer,
    affordable: integer,
    is_held_back: z.boolean(),
  })
  .transform((row) => ({
    id: row.id,
    userId: row.user_id,
    modelId: row.model_id,
    model: row.model,
    threshold: row.auto_recharge_threshold,
    amount: row.auto_recharge_amount,
    affordable: row.affordable,
    isHeldBack: row.is_held_back,
  }));
type Candidate = z.output<typeof candidateRow>;

/**
 * Selects subscriptions that may be recharged now: auto-recharge is on, they are usable, and they are not backing off unless for lack of money that
 * the wallet has by now.
 */
const CANDIDATES = `
  SELECT s.id, s.user_id, s.model_id, m.name AS model, s.auto_recharge_threshold, s.auto_recharge_amount,
    least(9007199254740991, coalesce(floor(coalesce(w.balance, 0) * 1000000::numeric / nullif(s.auto_recharge_amount::numeric * p.price_per_million, 0)), 9007199254740991))::bigint AS affordable,
    s.auto_recharge_retry_at IS NOT NULL AS is_held_back
  FROM subscriptions s
    JOIN users u ON u.id = s.user_id AND u.status = 'active'
    JOIN models m ON m.id = s.model_id AND m.is_on_shelf AND m.deleted_at IS NULL
    LEFT JOIN ledger_accounts w ON w.user_id = s.user_id
    JOIN LATERAL (SELECT p.price_per_million FROM price_versions p WHERE p.model_id = s.model_id AND p.effective_at <= now() ORDER BY p.effective_at DESC, p.id DESC LIMIT 1) p ON true
  WHERE s.status = 'active' AND s.auto_recharge_amount > 0
    AND (s.auto_recharge_retry_at IS NULL OR s.auto_recharge_retry_at <= now()
      OR s.auto_recharge_refusal = 'insufficient_funds' AND coalesce(w.balance, 0) >= ceil(s.auto_recharge_amount::numeric * p.price_per_million / 1000000))`;
const CANDIDATES_BY_ID = prepared(`${CANDIDATES} AND s.id = ANY($1::int[]) ORDER BY s.id`);

/**
 * Buys while a subscription's live `balance - held` is at or below its threshold and every sold credit has reached Redis. A purchase raises the
 * credit sequence under the row lock, so the next one needs Redis to have applied this one: one worker buys, however many see the same need.
 */
@Injectable()
export class AutoRechargeService extends BackgroundService {
  /** Maps a subscription to the smallest amount that a request of it needs, 0 when no request is known to wait. */
  private readonly waiting = new Map<number, number>();
  private running: Promise<void> | undefined;
  private isStopping = false;
  constructor(
    private readonly dataSource: DataSource,
    private readonly transactions: Transactions,
    private readonly liveBalances: LiveBalances,
    private readonly purchases: PurchasesService,
    private readonly tokens: TokenLedger,
    private readonly alerts: AlertsService,
    private readonly liveState: LiveStateService,
    @Inject(PurchaseBudgets) private readonly budgets: Pick<PurchaseBudgets, 'count'>,
  ) {
    super({
      name: 'auto-recharge',
      everyMs: SWEEP_EVERY_MS,
      failing: 'the auto-recharge sweep failed',
      stopsFirst: true,
    });
  }

  protected runOnce(): Promise<void> {
    return this.sweep();
  }

  override async beforeApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    await super.beforeApplicationShutdown();
    await this.running;
  }

  /** Evaluates these subscriptions soon. Returns at once: settlements and credits do not wait for a purchase. */
  consider(subscriptionIds: Iterable<number>, neededTokens = 0): void {
    for (const id of subscriptionIds)
      this.waiting.set(id, Math.max(neededTokens, this.waiting.get(id) ?? 0));
    if (this.waiting.size > 0)
      this.running ??= this.work().finally(() => (this.running = undefined));
  }

  /** Evaluates subscriptions, given by account and model, of which a request waits for tokens at a node or was refused there. */
  async considerRefused(refused: readonly FundsHint[]): Promise<void> {
    if (refused.length === 0) return;
    const rows: { id: number; needed: string }[] = await this.dataSource.query(
      `SELECT s.id, r.needed FROM subscriptions s JOIN unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS r(user_id, model_id, needed)
         ON s.user_id = r.user_id AND s.model_id = r.model_id WHERE s.auto_recharge_amount > 0`,
      [
        refused.map((one) => one.accountId),
        refused.map((one) => one.modelId),
        refused.map((one) => one.neededTokens),
      ],
    );
    for (const { id, needed } of rows) this.consider([id], Number(needed));
  }

  /** Clears refusals after money came into a wallet or a budget of purchases allows more, so that purchases run and nodes wait for them again. */
  async rearm(userId: number, refusal: 'insufficient_funds' | 'limit_reached'): Promise<void> {
    const ids = await this.transactions.run(async (tx) => {
      const rows: { id: number }[] = await tx.query(
        `SELECT id FROM subscriptions WHERE user_id = $1 AND auto_recharge_retry_at IS NOT NULL AND auto_recharge_refusal = $2
         ORDER BY id FOR UPDATE`,
        [userId, refusal],
      );
      for (const { id } of rows) await this.arm(tx, id);
      return rows.map(({ id }) => id);
    });
    this.consider(ids);
  }

  private async arm(tx: EntityManager, subscriptionId: number): Promise<void> {
    await tx.query(
      'UPDATE subscriptions SET auto_recharge_retry_at = NULL, revision = revision + 1 WHERE id = $1',
      [subscriptionId],
    );
    await this.liveState.subscriptionChanged(tx, subscriptionId);
  }

  /** Resolves when nothing is left to evaluate. */
  async idle(): Promise<void> {
    while (this.running) await this.running;
  }

  /** Evaluates subscriptions that are at or below their threshold by the ledger. */
  async sweep(): Promise<void> {
    const rows: { id: number }[] = await this.dataSource.query(
      `${CANDIDATES} AND s.balance - s.overdraft <= s.auto_recharge_threshold ORDER BY s.id LIMIT ${SWEEP_ROWS}`,
    );
    this.consider(rows.map((row) => row.id));
  }

  private async work(): Promise<void> {
    while (this.waiting.size > 0 && !this.isStopping) {
      const needs = new Map(this.waiting);
      this.waiting.clear();
      await this.considerAll(needs);
    }
  }

  /** A failure of one does not affect the others. Its need remains, and the sweep finds it again. */
  private async considerAll(needs: ReadonlyMap<number, number>): Promise<void> {
    const failures: unknown[] = [];
    try {
      for (const row of await this.candidates([...needs.keys()]))
        await this.considerOne(row, needs).catch((error: unknown) => failures.push(error));
    } catch (error) {
      failures.push(error);
    }
    if (failures.length > 0)
      this.logger.warn(
        failures[0],
        `${failures.length} subscriptions could not be evaluated for auto-recharge; this is the first error`,
      );
  }

  private candidates(ids: number[]): Promise<unknown[]> {
    return this.dataSource.query(CANDIDATES_BY_ID, [ids]);
  }

  private async considerOne(row: unknown, needs: ReadonlyMap<number, number>): Promise<void> {
    const candidate = candidateRow.parse(row);
    const live = (await this.liveBalances.read(candidate.userId, [candidate.modelId]))?.get(
      candidate.modelId,
    );
    if (!live || !isDue(candidate, live, needs.get(candidate.id) ?? 0)) return;
    try {
      await this.buyWithin(candidate, live);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      await this.backOff(candidate, error);
    }
  }

  /** Buys all that is needed, or one amount where a budget of purchases does not cover it. */
  private async buyWithin(candidate: Candidate, live: LiveBalance): Promise<void> {
    const tokens = tokensToBuy(candidate, live);
    const buy = (some: number): Promise<void> =>
      this.transactions.run((tx) => this.buy(tx, candidate, { tokens: some, live }));
    try {
      await buy(tokens);
    } catch (error) {
      if (!(error instanceof PurchaseNotCovered) || tokens === candidate.amount) throw error;
      await buy(candidate.amount);
    }
  }

  private async buy(
    tx: EntityManager,
    candidate: Candidate,
    { tokens, live }: { tokens: number; live: LiveBalance },
  ): Promise<void> {
    await this.purchases.lockPrices(tx, candidate.modelId);
    const subscription = await this.tokens.lockOne(tx, candidate.id);
    // A credit on its way to Redis may already cover the need; its arrival triggers another evaluation.
    if (subscription.status !== 'active' || subscription.creditSeq !== live.creditSeq) return;
    const cost = await this.purchases.buy(tx, subscription, {
      ...{ tokens, kind: 'auto_recharge', actorUserId: null },
    });
    await this.budgets.count(tx, {
      ...{ userId: candidate.userId, model: candidate.model, cost },
      reference: `credit:${candidate.id}:${subscription.creditSeq}`,
    });
    await tx.query('UPDATE subscriptions SET auto_recharge_failures = 0 WHERE id = $1', [
      candidate.id,
    ]);
    if (candidate.isHeldBack) await this.arm(tx, candidate.id);
    await this.alerts.resolve(tx, {
      rule: 'auto_recharge_failed',
      subject: `subscription:${candidate.id}`,
    });
  }

  private async backOff(candidate: Candidate, refusal: Refusal): Promise<void> {
    const reason =
      refusal.code === 'insufficient_funds'
        ? `the wallet balance is too low for ${candidate.amount.toLocaleString('en')} tokens`
        : refusal.message;
    await this.transactions.run(async (tx) => {
      await tx.query(
        `UPDATE subscriptions SET auto_recharge_failures = auto_recharge_failures + 1, auto_recharge_refusal = $2,
           auto_recharge_retry_at = now() + interval '${BACKOFF_FIRST}' * power(2, least(auto_recharge_failures, ${BACKOFF_DOUBLINGS_MAX})),
           revision = revision + 1
         WHERE id = $1`,
        [candidate.id, refusal.code],
      );
      // Nodes stop waiting for the purchase.
      await this.liveState.subscriptionChanged(tx, candidate.id);
      const message = `Subscription ${candidate.id} of user ${candidate.userId} could not be recharged: ${reason}`;
      await this.alerts.raise(tx, {
        rule: 'auto_recharge_failed',
        subject: `subscription:${candidate.id}`,
        message,
        detail: {
          user_id: candidate.userId,
          model_id: candidate.modelId,
          kind: refusal.code === 'insufficient_funds' ? 'funds' : 'refused',
          amount: candidate.amount,
          reason,
        },
      });
    });
  }
}

/**
 * Returns whether a purchase is due: `balance - held` is at or below the threshold, or the balance itself is below the least that a request needs,
 * which would be refused again and again. Holds on a larger balance cause no purchase (docs/decisions/0012).
 */
function isDue(
  { threshold, amount }: Candidate,
  { balance, held }: LiveBalance,
  neededTokens: number,
): boolean {
  if (balance - held <= threshold) return true;
  return balance < neededTokens && neededTokens <= balance - held + amount;
}

/** Returns one `amount`; where many would be needed, the tokens that bring the subscription above its threshold or that the wallet pays for. */
function tokensToBuy(
  { threshold, amount, affordable }: Candidate,
  { balance, held }: LiveBalance,
): number {
  const purchases = Math.floor((threshold - (balance - held)) / amount) + 1;
  return purchases <= SINGLE_PURCHASES_MAX
    ? amount
    : amount * Math.max(1, Math.min(purchases, affordable));
}
