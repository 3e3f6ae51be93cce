import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import { BudgetPreviews } from './budget-previews.service.ts';
import { ChargePreviews } from './charge-previews.service.ts';
import {
  budgetPreviewSchema,
  budgetQuery,
  chargePreviewSchema,
  chargeQuery,
  modelRemovalPreviewSchema,
  modelRemovalQuery,
  priceChangePreviewSchema,
  priceChangeQuery,
  purchasePreviewSchema,
  purchaseQuery,
  refundPreviewSchema,
  refundQuery,
  type BudgetQuery,
  type ChargeQuery,
  type ModelRemovalQuery,
  type PriceChangeQuery,
  type PurchaseQuery,
  type RefundQuery,
} from './previews.dto.ts';
import { PurchasePreviews } from './purchase-previews.service.ts';

@ApiTags('previews')
@Controller('previews')
export class PreviewsController {
  constructor(
    private readonly purchases: PurchasePreviews,
    private readonly charges: ChargePreviews,
    private readonly budgets: BudgetPreviews,
  ) {}

  @Get('purchase')
  @Permission('user')
  @Answers('What tokens would cost, or how many an amount buys', purchasePreviewSchema, {
    refuses: ['not_found', 'model_off_shelf', 'model_not_priced', 'token_limit'],
  })
  purchase(@FromCaller() caller: Caller, @Query({ schema: purchaseQuery }) query: PurchaseQuery) {
    return this.purchases.purchase(caller, query);
  }

  @Get('refund')
  @Permission('user')
  @Answers('What unsubscribing would refund', refundPreviewSchema, {
    refuses: ['not_found', 'not_subscribed'],
  })
  refund(@FromCaller() caller: Caller, @Query({ schema: refundQuery }) query: RefundQuery) {
    return this.purchases.refund(caller, query);
  }

  @Get('model-removal')
  @Permission('admin')
  @Answers('What deleting a model would refund to its subscribers', modelRemovalPreviewSchema, {
    refuses: ['not_found'],
  })
  modelRemoval(@Query({ schema: modelRemovalQuery }) query: ModelRemovalQuery) {
    return this.purchases.modelRemoval(query);
  }

  @Get('charge')
  @Permission('user')
  @Answers('What a request of so many tokens is charged, line by line', chargePreviewSchema, {
    refuses: ['not_found', 'model_not_priced', 'token_limit'],
  })
  charge(@Query({ schema: chargeQuery }) query: ChargeQuery) {
    return this.charges.charge(query);
  }

  @Get('budget')
  @Permission('user')
  @Answers("How far yesterday's requests would have used up a budget", budgetPreviewSchema, {
    refuses: ['not_found', 'query_too_large'],
  })
  budget(@FromCaller() caller: Caller, @Query({ schema: budgetQuery }) query: BudgetQuery) {
    return this.budgets.budget(caller, query);
  }

  @Get('price-change')
  @Permission('admin')
  @Answers('What another price means for an example request', priceChangePreviewSchema, {
    refuses: ['not_found', 'token_limit'],
  })
  priceChange(@Query({ schema: priceChangeQuery }) query: PriceChangeQuery) {
    return this.charges.priceChange(query);
  }
}
