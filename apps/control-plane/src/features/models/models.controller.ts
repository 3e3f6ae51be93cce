import { Body, Controller, Get, HttpCode, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { pageOf } from '../../platform/http/list-query.ts';
import { IdempotencyKey } from '../../platform/idempotency/idempotency.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import { IdPath } from '../../platform/http/id-path.ts';
import { modelFamilyTableSchema, type ModelFamilyTable } from '../snapshots/model-families.ts';
import { ModelFamiliesService } from './model-families.service.ts';
import {
  createModelSchema,
  marketResponseSchema,
  marketSchema,
  modelFamiliesResponseSchema,
  modelListSchema,
  modelResponseSchema,
  priceListSchema,
  priceResponseSchema,
  setPriceSchema,
  updateModelSchema,
  type CreateModel,
  type MarketList,
  type ModelList,
  type PriceList,
  type SetPrice,
  type UpdateModel,
} from './models.dto.ts';
import { ModelsService } from './models.service.ts';
import { PricingService } from './pricing.service.ts';

@ApiTags('models')
@Controller('models')
export class ModelsController {
  constructor(
    private readonly models: ModelsService,
    private readonly pricing: PricingService,
    private readonly modelFamilies: ModelFamiliesService,
  ) {}

  @Get()
  @Permission('admin')
  @Answers('List the catalogue', pageOf(modelResponseSchema))
  list(@Query({ schema: modelListSchema }) query: ModelList) {
    return this.models.list(query);
  }

  @Post()
  @Permission('admin')
  @Answers(
    'Add a model, with its price and on the shelf if asked for; without, it is not for sale. What is left out comes from its family, where the name is known',
    modelResponseSchema,
    { refuses: ['model_name_taken', 'model_not_priced'] },
  )
  create(
    @FromCaller() caller: Caller,
    @Body({ schema: createModelSchema }) body: CreateModel,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ) {
    return this.models.create(caller, body, idempotencyKey);
  }

  @Get('market')
  @Permission('user')
  @Answers('Models to subscribe to, with the price in force', pageOf(marketResponseSchema))
  market(@Query({ schema: marketSchema }) query: MarketList) {
    return this.models.market(query);
  }

  @Get('pricing')
  @Permission('user')
  @Answers('List price versions, newest first', pageOf(priceResponseSchema))
  prices(@Query({ schema: priceListSchema }) query: PriceList) {
    return this.pricing.list(query);
  }

  @Post('pricing')
  @Permission('admin')
  @Answers('Set a price, now or from a moment to come', priceResponseSchema, {
    refuses: ['not_found', 'precondition_failed'],
  })
  setPrice(
    @FromCaller() caller: Caller,
    @Body({ schema: setPriceSchema }) body: SetPrice,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ) {
    return this.pricing.set(caller, body, idempotencyKey);
  }

  @Get('families')
  @Permission('admin')
  @Answers('What is known of common models by their names', modelFamiliesResponseSchema)
  families() {
    return this.modelFamilies.table();
  }

  @Put('families')
  @Permission('admin')
  @Answers(
    'Import a table of model families in place of the one in use; models that exist keep what they have',
    modelFamiliesResponseSchema,
  )
  importFamilies(
    @FromCaller() caller: Caller,
    @Body({ schema: modelFamilyTableSchema }) body: ModelFamilyTable,
  ) {
    return this.modelFamilies.import(caller, body);
  }

  @Get(':id')
  @Permission('admin')
  @Answers('One model', modelResponseSchema)
  get(@IdPath() id: number) {
    return this.models.get(id);
  }

  @Put(':id')
  @Permission('admin')
  @Answers('Change the given fields of a model', modelResponseSchema, {
    refuses: ['model_name_taken'],
  })
  update(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Body({ schema: updateModelSchema }) body: UpdateModel,
  ) {
    return this.models.update(caller, id, body);
  }

  @Post(':id/enable')
  @Permission('admin')
  @Answers('Put a model on the shelf; it needs a price in force', modelResponseSchema, {
    refuses: ['model_not_priced'],
  })
  @HttpCode(200)
  enable(@FromCaller() caller: Caller, @IdPath() id: number) {
    return this.models.enable(caller, id);
  }

  @Post(':id/disable')
  @Permission('admin')
  @Answers(
    'Take a model off the shelf: not in the market, not callable; subscribers keep their tokens',
    modelResponseSchema,
  )
  @HttpCode(200)
  disable(@FromCaller() caller: Caller, @IdPath() id: number) {
    return this.models.disable(caller, id);
  }
}
