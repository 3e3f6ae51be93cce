import { Inject, Injectable } from '@nestjs/common';
import {
  divideFloor,
  formatAmount,
  micros,
  parseAmount,
  TOKENS_PER_PRICE,
  type Micros,
} from '@tollgate/money';
import { CONFIG, type Config } from '../../config.ts';
import { AccountScope } from '../../platform/access/account-scope.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { invalidField, noSuch, Refusal } from '../../platform/http/refusal.ts';
import { KeysService } from '../keys/keys.service.ts';
import { ModelsService } from '../models/models.service.ts';
import { PricingService } from '../models/pricing.service.ts';
import { RefundPreviewService } from '../subscriptions/refund-preview.service.ts';
import { MySubscriptions } from '../subscriptions/my-subscriptions.service.ts';
import { WalletService } from '../wallet/wallet.service.ts';
import { boundedCost } from '../models/bounded-cost.ts';
import {
  SAY_TOKENS,
  type ModelRemovalPreview,
  type ModelRemovalQuery,
  type PurchasePreview,
  type PurchaseQuery,
  type RefundPreview,
  type RefundQuery,
} from './previews.dto.ts';

const TOKENS_MAX = 1_000_000_000_000n;

/** Computes the effects of buying and unsubscribing beforehand. It only reads. */
@Injectable()
export class PurchasePreviews {
  constructor(
    private readonly scope: AccountScope,
    private readonly models: ModelsService,
    private readonly pricing: PricingService,
    private readonly subscriptions: MySubscriptions,
    private readonly refunds: RefundPreviewService,
    private readonly wallets: WalletService,
    private readonly keys: KeysService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async purchase(caller: Caller, query: PurchaseQuery): Promise<PurchasePreview> {
    const userId = await this.scope.resolve(caller, query.user_id);
    const model = await this.modelOf(query.model_id);
    if (!model.isOnShelf) throw new Refusal('model_off_shelf');
    const price = (await this.pricing.pricesInForce([query.model_id])).get(query.model_id);
    if (!price) throw new Refusal('model_not_priced');
    const pricePerMillion = parseAmount(price.price_per_million);
    const tokens =
      query.tokens === undefined ? tokensFor(query.amount, pricePerMillion) : BigInt(query.tokens);
    const cost = boundedCost(tokens, pricePerMillion);
    const held = await this.subscriptions.tokensOf(userId, query.model_id);
    const wallet = parseAmount((await this.wallets.get(caller, { user_id: userId })).balance);
    return {
      model_id: query.model_id,
      model: model.name,
      user_id: userId,
      tokens: Number(tokens),
      cost: formatAmount(cost),
      currency: this.config.CURRENCY,
      price_per_million: price.price_per_million,
      is_subscribed: held !== undefined,
      tokens_after: (held ?? 0) + Number(tokens),
      wallet_before: formatAmount(wallet),
      wallet_after: formatAmount(wallet - cost),
      is_affordable: cost <= wallet,
    };
  }

  async refund(caller: Caller, query: RefundQuery): Promise<RefundPreview> {
    const userId = await this.scope.resolve(caller, query.user_id);
    const model = await this.modelOf(query.model_id);
    const refund = await this.refunds.of(userId, query.model_id);
    const wallet = parseAmount((await this.wallets.get(caller, { user_id: userId })).balance);
    return {
      model_id: query.model_id,
      model: model.name,
      user_id: userId,
      refunded_tokens: refund.tokens,
      refunded_amount: formatAmount(refund.refundMicros),
      currency: this.config.CURRENCY,
      held_tokens: refund.held,
      keys_affected: await this.keys.countAllowing(userId, model.name),
      wallet_after: formatAmount(wallet + refund.refundMicros),
      is_live: refund.isLive,
    };
  }

  async modelRemoval({ model_id: id }: ModelRemovalQuery): Promise<ModelRemovalPreview> {
    const model = await this.modelOf(id);
    const { subscriptions, tokens, refundMicros } = await this.refunds.ofModel(id);
    return {
      model_id: id,
      model: model.name,
      subscriptions,
      refunded_tokens: tokens,
      refunded_amount: formatAmount(refundMicros),
      currency: this.config.CURRENCY,
    };
  }

  private async modelOf(id: number): Promise<{ name: string; isOnShelf: boolean }> {
    const model = (await this.models.namesOf([id])).get(id);
    if (!model) throw noSuch('model', id, 'model_id');
    return model;
  }
}

/** Returns the largest number of tokens whose cost, rounded up, is within the amount. */
function tokensFor(amount: bigint | undefined, pricePerMillion: Micros): bigint {
  if (amount === undefined) throw new Error('neither tokens nor amount');
  if (pricePerMillion === 0n) throw invalidField('amount', SAY_TOKENS);
  const tokens = divideFloor(micros(amount) * TOKENS_PER_PRICE, pricePerMillion);
  return tokens > TOKENS_MAX ? TOKENS_MAX : tokens;
}
