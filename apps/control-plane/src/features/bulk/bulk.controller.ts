import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import { BulkModels } from './bulk-models.service.ts';
import { BulkRecords } from './bulk-records.service.ts';
import {
  addModelsSchema,
  applyModelsSchema,
  bulkApplySchema,
  bulkOutcomeSchema,
  bulkPlanAnswer,
  bulkPlanSchema,
  type AddModelsBody,
  type ApplyModelsBody,
  type BulkApplyBody,
  type BulkPlanBody,
} from './bulk.dto.ts';

@ApiTags('bulk')
@Controller('bulk')
export class BulkController {
  constructor(
    private readonly records: BulkRecords,
    private readonly models: BulkModels,
  ) {}

  @Post('plan')
  @Permission('admin')
  @Answers(
    'Plan one act on many accounts, keys or models: list what it would change',
    bulkPlanAnswer,
  )
  @HttpCode(200)
  plan(@FromCaller() caller: Caller, @Body({ schema: bulkPlanSchema }) body: BulkPlanBody) {
    return this.records.plan(caller, body);
  }

  @Post('apply')
  @Permission('admin')
  @Answers('Act on many records as planned; rows that are refused are named', bulkOutcomeSchema, {
    refuses: ['precondition_failed'],
  })
  @HttpCode(200)
  apply(@FromCaller() caller: Caller, @Body({ schema: bulkApplySchema }) body: BulkApplyBody) {
    return this.records.apply(caller, body);
  }

  @Post('plan-models')
  @Permission('admin')
  @Answers(
    'Plan the addition of models of an upstream: list each model with the facts of its family, its price and its route',
    bulkPlanAnswer,
    { refuses: ['not_found'] },
  )
  @HttpCode(200)
  planModels(@Body({ schema: addModelsSchema }) body: AddModelsBody) {
    return this.models.plan(body);
  }

  @Post('apply-models')
  @Permission('admin')
  @Answers('Add models of an upstream as planned', bulkOutcomeSchema, {
    refuses: ['not_found', 'precondition_failed'],
  })
  @HttpCode(200)
  applyModels(
    @FromCaller() caller: Caller,
    @Body({ schema: applyModelsSchema }) body: ApplyModelsBody,
  ) {
    return this.models.apply(caller, body);
  }
}
