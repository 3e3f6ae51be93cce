import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import { IdempotencyKey } from '../../platform/idempotency/idempotency.ts';
import { WalletCorrections } from './wallet-corrections.ts';
import {
  adjustBody,
  adminRechargeBody,
  adminRechargeResponseSchema,
  walletCorrectionSchema,
  walletQuery,
  walletResponseSchema,
  type AdjustBody,
  type AdminRechargeBody,
  type WalletQuery,
} from './wallet.dto.ts';
import { WalletService } from './wallet.service.ts';

/** The payments serve `POST wallet/recharge` and `POST wallet/withdraw`, and the subscriptions serve `GET wallet/logs`. */
@ApiTags('wallet')
@Controller('wallet')
export class WalletController {
  constructor(
    private readonly wallet: WalletService,
    private readonly corrections: WalletCorrections,
  ) {}

  @Get()
  @Permission('user')
  @Answers('Balance of the wallet', walletResponseSchema)
  get(@FromCaller() caller: Caller, @Query({ schema: walletQuery }) query: WalletQuery) {
    return this.wallet.get(caller, query);
  }

  @Post('adjust')
  @Permission('admin')
  @Answers('Correct the wallet of an account by a signed amount', walletCorrectionSchema, {
    refuses: ['not_found', 'balance_limit', 'insufficient_funds', 'correction_limit'],
  })
  @HttpCode(200)
  adjust(
    @FromCaller() caller: Caller,
    @IdempotencyKey() key: string | undefined,
    @Body({ schema: adjustBody }) body: AdjustBody,
  ) {
    return this.corrections.adjust(caller, key, body);
  }

  @Post('admin-recharge')
  @Permission('admin')
  @Answers('Credit the wallet of an account', adminRechargeResponseSchema, {
    refuses: ['not_found', 'balance_limit'],
  })
  @HttpCode(200)
  adminRecharge(
    @FromCaller() caller: Caller,
    @IdempotencyKey() key: string | undefined,
    @Body({ schema: adminRechargeBody }) body: AdminRechargeBody,
  ) {
    return this.wallet.adminRecharge(caller, key, body);
  }
}
