import { Body, Controller, Post } from '@nestjs/common';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { IdempotencyKey } from '../../platform/idempotency/idempotency.ts';
import { rechargeBody, type RechargeBody } from './payments.dto.ts';
import { PaymentsService } from './payments.service.ts';

@Controller('wallet')
export class PaymentsController {
  constructor(private readonly payments: PaymentsService) {}

  @Post('recharge')
  @Permission('user')
  recharge(@FromCaller() caller: Caller, @IdempotencyKey() key: string | undefined, @Body({ schema: rechargeBody }) body: RechargeBody) {
    return this.payments.recharge(caller, key, body);
  }
}
