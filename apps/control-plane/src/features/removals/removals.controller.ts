import { Controller, Delete, HttpCode, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { IdPath } from '../../platform/http/id-path.ts';
import { AnswersNothing } from '../../platform/openapi/answers.ts';
import { AccountRemoval } from './account-removal.service.ts';
import { ModelRemoval } from './model-removal.service.ts';
import {
  removeAccountSchema,
  removeModelSchema,
  type RemoveAccount,
  type RemoveModel,
} from './removals.dto.ts';

@ApiTags('users')
@Controller('users')
export class AccountRemovalController {
  constructor(private readonly accounts: AccountRemoval) {}

  @Delete(':id')
  @Permission('admin')
  @AnswersNothing('Delete an account; `forfeit` gives up the money and tokens it holds', {
    refuses: [
      'account_not_empty',
      'invalid_transition',
      'cannot_change_self',
      'last_administrator',
    ],
  })
  @HttpCode(204)
  delete(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Query({ schema: removeAccountSchema }) query: RemoveAccount,
  ) {
    return this.accounts.remove(caller, id, query);
  }
}

@ApiTags('models')
@Controller('models')
export class ModelRemovalController {
  constructor(private readonly models: ModelRemoval) {}

  @Delete(':id')
  @Permission('admin')
  @AnswersNothing('Delete a model; `refund` closes and refunds its subscriptions', {
    refuses: ['model_has_subscribers'],
  })
  @HttpCode(204)
  remove(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Query({ schema: removeModelSchema }) query: RemoveModel,
  ) {
    return this.models.remove(caller, id, { refund: query.refund ?? false });
  }
}
