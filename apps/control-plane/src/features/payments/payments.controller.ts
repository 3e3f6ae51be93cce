import {
  Body,
  Controller,
  Get,
  Headers,
  HttpCode,
  Post,
  Query,
  Req,
  type RawBodyRequest,
} from '@nestjs/common';
import { ApiExcludeEndpoint, ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { withdrawBody, type WithdrawBody } from '../wallet/wallet.dto.ts';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import { IdempotencyKey } from '../../platform/idempotency/idempotency.ts';
import { pageOf } from '../../platform/http/list-query.ts';
import { PaymentNotices } from './payment-notices.ts';
import {
  paymentEntrySchema,
  paymentResponseSchema,
  paymentsQuery,
  rechargeBody,
  type PaymentsQuery,
  type RechargeBody,
} from './payments.dto.ts';
import { PaymentsService } from './payments.service.ts';
import { payoutSchema, payoutsQuery, withdrawalSchema, type PayoutsQuery } from './payouts.dto.ts';
import { PayoutsService } from './payouts.service.ts';

@ApiTags('wallet')
@Controller()
export class PaymentsController {
  constructor(
    private readonly payments: PaymentsService,
    private readonly payouts: PayoutsService,
    private readonly notices: PaymentNotices,
  ) {}

  @Get('wallet/payments')
  @Permission('user')
  @Answers('Payments through the payment provider, newest first', pageOf(paymentEntrySchema))
  list(@FromCaller() caller: Caller, @Query({ schema: paymentsQuery }) query: PaymentsQuery) {
    return this.payments.list(caller, query);
  }

  @Post('wallet/recharge')
  @Permission('user')
  @Answers('Recharge the wallet through the payment provider', paymentResponseSchema, {
    refuses: ['not_found', 'payments_not_configured', 'payment_provider_failed', 'balance_limit'],
  })
  recharge(
    @FromCaller() caller: Caller,
    @IdempotencyKey() key: string | undefined,
    @Body({ schema: rechargeBody }) body: RechargeBody,
  ) {
    return this.payments.recharge(caller, key, body);
  }

  @Post('wallet/withdraw')
  @Permission('admin')
  @Answers('Pay money of a wallet out, by hand or through the payment provider', withdrawalSchema, {
    refuses: [
      'not_found',
      'insufficient_funds',
      'correction_limit',
      'payments_not_configured',
      'payout_limit',
    ],
  })
  @HttpCode(200)
  withdraw(
    @FromCaller() caller: Caller,
    @IdempotencyKey() key: string | undefined,
    @Body({ schema: withdrawBody }) body: WithdrawBody,
  ) {
    return this.payouts.withdraw(caller, key, body);
  }

  @Get('wallet/payouts')
  @Permission('user')
  @Answers('Payouts through the payment provider, newest first', pageOf(payoutSchema))
  payoutList(@FromCaller() caller: Caller, @Query({ schema: payoutsQuery }) query: PayoutsQuery) {
    return this.payouts.list(caller, query);
  }

  /** The route is outside the prefix. The signature over the raw body authenticates the call. */
  @Post('webhooks/stripe')
  @Permission('public')
  @HttpCode(200)
  @ApiExcludeEndpoint()
  stripe(
    @Req() request: RawBodyRequest<Request>,
    @Headers('stripe-signature') signature: string | undefined,
  ) {
    return this.notices.take('stripe', request.rawBody ?? Buffer.alloc(0), signature);
  }
}
