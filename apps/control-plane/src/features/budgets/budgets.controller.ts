import { Body, Controller, Delete, Get, HttpCode, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { IdPath } from '../../platform/http/id-path.ts';
import { idsQuery, pageOf, type IdsQuery } from '../../platform/http/list-query.ts';
import { IdempotencyKey } from '../../platform/idempotency/idempotency.ts';
import { Answers, AnswersNothing } from '../../platform/openapi/answers.ts';
import { BudgetUsageService } from './budget-usage.service.ts';
import {
  budgetEntriesSchema,
  budgetListSchema,
  budgetResponseSchema,
  budgetUsageListSchema,
  createBudgetSchema,
  grantSchema,
  resetSchema,
  updateBudgetSchema,
  type BudgetList,
  type CreateBudget,
  type Grant,
  type Reset,
  type UpdateBudget,
} from './budgets.dto.ts';
import { BudgetsService } from './budgets.service.ts';
import { toBudgetResponse } from './to-budget-response.ts';

@ApiTags('budgets')
@Controller('budgets')
export class BudgetsController {
  constructor(
    private readonly budgets: BudgetsService,
    private readonly usage: BudgetUsageService,
  ) {}

  @Get()
  @Permission('user')
  @Answers('List budgets; administrators see those of all accounts', pageOf(budgetResponseSchema))
  list(@FromCaller() caller: Caller, @Query({ schema: budgetListSchema }) query: BudgetList) {
    return this.budgets.list(caller, query);
  }

  @Post()
  @Permission('user')
  @Answers(
    'Set a budget of a key, an account, each session, each end user, or what auto-recharge buys; it holds from the next request on',
    budgetResponseSchema,
    { refuses: ['not_found', 'limit_reached'] },
  )
  create(
    @FromCaller() caller: Caller,
    @Body({ schema: createBudgetSchema }) body: CreateBudget,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ) {
    return this.budgets.create(caller, body, idempotencyKey);
  }

  @Get('usage')
  @Permission('user')
  @Answers(
    'What is used and held of several budgets in their current periods; those that are unknown or of others are left out',
    budgetUsageListSchema,
  )
  async readUsage(
    @FromCaller() caller: Caller,
    @Query({ schema: idsQuery('budgets') }) { ids }: IdsQuery,
  ) {
    return { data: await this.usage.read(caller, ids) };
  }

  @Get(':id')
  @Permission('user')
  @Answers('One budget', budgetResponseSchema)
  async get(@FromCaller() caller: Caller, @IdPath() id: number) {
    return toBudgetResponse(await this.budgets.find(caller, id));
  }

  @Get(':id/entries')
  @Permission('user')
  @Answers('The grants and resets of a budget, newest first', budgetEntriesSchema)
  entries(@FromCaller() caller: Caller, @IdPath() id: number) {
    return this.usage.entries(caller, id);
  }

  @Put(':id')
  @Permission('user')
  @Answers('Change the given fields of a budget; what is used stays', budgetResponseSchema)
  update(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Body({ schema: updateBudgetSchema }) body: UpdateBudget,
  ) {
    return this.budgets.update(caller, id, body);
  }

  @Delete(':id')
  @Permission('user')
  @AnswersNothing('Remove a budget')
  @HttpCode(204)
  async delete(@FromCaller() caller: Caller, @IdPath() id: number) {
    await this.budgets.delete(caller, id);
  }

  @Post(':id/grant')
  @Permission('user')
  @Answers('Add to what the current period of a budget may use', budgetResponseSchema)
  @HttpCode(200)
  grant(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Body({ schema: grantSchema }) body: Grant,
    @IdempotencyKey() key: string | undefined,
  ) {
    return this.budgets.grant(caller, id, { body, key });
  }

  @Post(':id/reset')
  @Permission('user')
  @Answers('Start the current period of a budget again', budgetResponseSchema)
  @HttpCode(200)
  reset(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Body({ schema: resetSchema }) body: Reset,
    @IdempotencyKey() key: string | undefined,
  ) {
    return this.budgets.reset(caller, id, { body, key });
  }
}
