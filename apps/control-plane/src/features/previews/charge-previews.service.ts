import { Inject, Injectable } from '@nestjs/common';
import { WEIGHT_FIELDS, weightFields } from '@tollgate/contracts';
import { divideCeil, formatAmount, MICROS_PER_UNIT, parseAmount } from '@tollgate/money';
import { CONFIG, type Config } from '../../config.ts';
import { noSuch, Refusal } from '../../platform/http/refusal.ts';
import type { PriceTag } from '../models/models.dto.ts';
import { ModelsService } from '../models/models.service.ts';
import { PricingService } from '../models/pricing.service.ts';
import { exampleLines } from '../usage/api/explain-charge.ts';
import { boundedCost } from '../models/bounded-cost.ts';
import type {
  ChargeAtPrice,
  ChargePreview,
  ChargeQuery,
  PriceChangePreview,
  PriceChangeQuery,
} from './previews.dto.ts';

type Price = Omit<PriceTag, 'currency' | 'free' | 'multipliers'>;

const UNPRICED: Price = {
  price_per_million: '0',
  ...weightFields('1', null),
  tiers: [],
};
const PRICE_FIELDS = ['price_per_million', ...WEIGHT_FIELDS] as const;

/** Computes the cost of an example request at the price in force and at another price. */
@Injectable()
export class ChargePreviews {
  constructor(
    private readonly models: ModelsService,
    private readonly pricing: PricingService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async charge(query: ChargeQuery): Promise<ChargePreview> {
    const { model, price } = await this.modelOf(query.model_id);
    if (!price) throw new Refusal('model_not_priced');
    return {
      model_id: query.model_id,
      model,
      currency: this.config.CURRENCY,
      ...chargeAt(query, price),
    };
  }

  async priceChange(query: PriceChangeQuery): Promise<PriceChangePreview> {
    const { model, price } = await this.modelOf(query.model_id);
    const before = price ? chargeAt(query, price) : null;
    const after = chargeAt(query, changed(price ?? UNPRICED, query));
    return {
      model_id: query.model_id,
      model,
      currency: this.config.CURRENCY,
      before,
      after,
      cost_difference: before && formatAmount(parseAmount(after.cost) - parseAmount(before.cost)),
      charged_tokens_difference: before && after.charged_tokens - before.charged_tokens,
    };
  }

  private async modelOf(id: number): Promise<{ model: string; price: PriceTag | undefined }> {
    const model = (await this.models.namesOf([id])).get(id);
    if (!model) throw noSuch('model', id, 'model_id');
    return { model: model.name, price: (await this.pricing.pricesInForce([id])).get(id) };
  }
}

function changed(price: Price, query: PriceChangeQuery): Price {
  const given = PRICE_FIELDS.flatMap((name) => {
    const value = query[name];
    return value === undefined ? [] : [[name, formatAmount(value)] as const];
  });
  return { ...price, ...Object.fromEntries(given) };
}

function chargeAt(query: ChargeQuery, price: Price): ChargeAtPrice {
  const { lines, sumMicros } = exampleLines(query, price);
  const tokens = divideCeil(sumMicros, MICROS_PER_UNIT);
  return {
    price_per_million: price.price_per_million,
    lines,
    sum: formatAmount(sumMicros),
    charged_tokens: Number(tokens),
    cost: formatAmount(boundedCost(tokens, parseAmount(price.price_per_million))),
  };
}
