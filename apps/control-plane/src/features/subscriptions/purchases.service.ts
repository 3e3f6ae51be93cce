import { Inject, Injectable } from '@nestjs/common';
import { micros, type Micros } from '@tollgate/money';
import type { EntityManager } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { boundedCost } from '../models/bounded-cost.ts';
import { PricesInForce } from '../models/prices-in-force.service.ts';
import { LedgerService } from '../wallet/ledger.service.ts';
import { TokenLedger, type LockedSubscription } from './token-ledger.service.ts';

export interface Purchase {
  tokens: number;
  kind: 'subscribe' | 'renew' | 'auto_recharge';
  actorUserId: number | null;
  note?: string;
}

const REPAID = 'Used before the refund, booked after it';

/** Buys tokens from the wallet. One transaction has the debit, the lot, the entry, the numbered credit and the promise to write to Redis. */
@Injectable()
export class PurchasesService {
  constructor(
    private readonly prices: PricesInForce,
    private readonly ledger: LedgerService,
    private readonly tokens: TokenLedger,
    private readonly liveState: LiveStateService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Is the currency of every cost that this service returns. */
  get currency(): string {
    return this.config.CURRENCY;
  }

  /** Keeps the prices of a model until the transaction ends, as `PricesInForce.lockPrices` does. */
  lockPrices(tx: EntityManager, modelId: number): Promise<void> {
    return this.prices.lockPrices(tx, modelId);
  }

  /**
   * Buys tokens and returns their cost in micro-units. `subscription` and the prices of its model are locked. Throws token_limit, insufficient_funds
   * or free_tokens_limit; then nothing has changed.
   */
  async buy(
    tx: EntityManager,
    subscription: LockedSubscription,
    purchase: Purchase,
  ): Promise<Micros> {
    if (purchase.tokens === 0) return micros(0n);
    if (!Number.isSafeInteger(subscription.balance + purchase.tokens))
      throw new Refusal('token_limit');
    const { perMillion, at } = await this.prices.priceNow(tx, subscription.modelId);
    const cost = boundedCost(BigInt(purchase.tokens), perMillion);
    if (cost === 0n) await this.refuseBeyondFree(tx, subscription.userId, purchase.tokens);
    const { seq } = await this.tokens.credit(tx, subscription, {
      tokens: purchase.tokens,
      cost,
      kind: purchase.kind,
      boughtAt: at,
    });
    await this.ledger.post(tx, {
      kind: purchase.kind,
      reference: `credit:${subscription.id}:${seq}`,
      actorUserId: purchase.actorUserId,
      note: purchase.note,
      entries: [
        { account: { kind: 'wallet', userId: subscription.userId }, amount: micros(-cost) },
        { account: { kind: 'revenue' }, amount: cost },
      ],
    });
    await this.liveState.subscriptionChanged(tx, subscription.id);
    return cost;
  }

  /**
   * Buys the tokens by which a closed subscription is overdrawn, at most the amount that was refunded of it. Returns false when there is nothing to
   * buy or the wallet cannot pay it. Free tokens are not claimed back.
   */
  async repay(
    tx: EntityManager,
    { id, modelId }: { id: number; modelId: number },
  ): Promise<boolean> {
    await this.lockPrices(tx, modelId);
    const subscription = await this.tokens.lockOne(tx, id);
    const refunded = await this.tokens.refundedSincePurchase(tx, id);
    const tokens = Math.min(subscription.overdraft, refunded);
    if (subscription.status !== 'closed' || tokens <= 0) return false;
    const { perMillion } = await this.prices.priceNow(tx, modelId);
    const cost = boundedCost(BigInt(tokens), perMillion);
    const wallet = await this.ledger.walletForUpdate(tx, subscription.userId);
    if (cost === 0n || cost > wallet) return false;
    await this.buy(tx, subscription, { tokens, kind: 'renew', actorUserId: null, note: REPAID });
    return true;
  }

  /** Bounds the free tokens that an account gets when a price was forgotten or set to zero by mistake. */
  private async refuseBeyondFree(tx: EntityManager, userId: number, tokens: number): Promise<void> {
    const most = this.config.FREE_TOKENS_PER_ACCOUNT;
    // The wallet's row locks the account, so that two simultaneous purchases count each other.
    await this.ledger.walletForUpdate(tx, userId);
    const held = await this.tokens.unspentFreeTokens(tx, userId);
    if (held + tokens > most)
      throw new Refusal('free_tokens_limit', {
        detail: `The account holds ${held} unspent free tokens; with these it would exceed ${most}`,
      });
  }
}
