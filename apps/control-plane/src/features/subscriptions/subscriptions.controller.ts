import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { pageOf } from '../../platform/http/list-query.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import { IdempotencyKey } from '../../platform/idempotency/idempotency.ts';
import {
  autoRechargeResponseSchema,
  autoRechargeSchema,
  drainQuery,
  myModelResponseSchema,
  myModelsSchema,
  purchaseResponseSchema,
  renewSchema,
  subscribeSchema,
  unsubscribeResponseSchema,
  unsubscribeSchema,
  type DrainQuery,
  type MyModels,
  type Renew,
  type SetAutoRecharge,
  type Subscribe,
  type Unsubscribe,
} from './subscriptions.dto.ts';
import { AutoRechargeSettings } from './auto-recharge/auto-recharge-settings.service.ts';
import { MySubscriptions } from './my-subscriptions.service.ts';
import { SubscriptionsService } from './subscriptions.service.ts';
import { WithdrawalsService } from './withdrawals.service.ts';

@ApiTags('models')
@Controller('models')
export class SubscriptionsController {
  constructor(
    private readonly subscriptions: SubscriptionsService,
    private readonly mine: MySubscriptions,
    private readonly recharge: AutoRechargeSettings,
    private readonly withdrawals: WithdrawalsService,
  ) {}

  @Get('my')
  @Permission('user')
  @Answers('Subscribed models with live balances', pageOf(myModelResponseSchema))
  my(@FromCaller() caller: Caller, @Query({ schema: myModelsSchema }) query: MyModels) {
    return this.mine.my(caller, query);
  }

  @Post('subscribe')
  @Permission('user')
  @Answers('Subscribe to a model and buy tokens', purchaseResponseSchema, {
    refuses: [
      'not_found',
      'insufficient_funds',
      'already_subscribed',
      'subscription_closing',
      'token_limit',
      'free_tokens_limit',
    ],
  })
  subscribe(
    @FromCaller() caller: Caller,
    @Body({ schema: subscribeSchema }) body: Subscribe,
    @IdempotencyKey() key: string | undefined,
  ) {
    return this.subscriptions.subscribe(caller, body, key);
  }

  @Post('renew')
  @Permission('user')
  @Answers('Buy more tokens', purchaseResponseSchema, {
    refuses: [
      'not_found',
      'not_subscribed',
      'model_off_shelf',
      'insufficient_funds',
      'token_limit',
      'free_tokens_limit',
    ],
  })
  @HttpCode(200)
  renew(
    @FromCaller() caller: Caller,
    @Body({ schema: renewSchema }) body: Renew,
    @IdempotencyKey() key: string | undefined,
  ) {
    return this.subscriptions.renew(caller, body, key);
  }

  @Post('unsubscribe')
  @Permission('user')
  @Answers(
    'Close a subscription; what remains is refunded at its cost',
    unsubscribeResponseSchema,
    { refuses: ['not_found', 'not_subscribed'] },
  )
  @HttpCode(200)
  unsubscribe(
    @FromCaller() caller: Caller,
    @Body({ schema: unsubscribeSchema }) body: Unsubscribe,
    @Query({ schema: drainQuery }) query: DrainQuery,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ) {
    return this.withdrawals.unsubscribe(caller, body, {
      drain: query.drain ?? false,
      idempotencyKey,
    });
  }

  @Post('set-auto-recharge')
  @Permission('user')
  @Answers(
    'Buy `amount` tokens whenever the balance is at or below `threshold`; amount 0 or both null = off',
    autoRechargeResponseSchema,
    { refuses: ['not_found', 'not_subscribed'] },
  )
  @HttpCode(200)
  setAutoRecharge(
    @FromCaller() caller: Caller,
    @Body({ schema: autoRechargeSchema }) body: SetAutoRecharge,
  ) {
    return this.recharge.set(caller, body);
  }
}
