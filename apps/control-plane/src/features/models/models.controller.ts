import { Body, Controller, Get, HttpCode, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { IdPath } from '../../platform/http/id-path.ts';
import { createModelSchema, marketSchema, modelListSchema, priceListSchema, setPriceSchema, updateModelSchema, type CreateModel, type MarketList, type ModelList, type PriceList, type SetPrice, type UpdateModel } from './models.dto.ts';
import { ModelsService } from './models.service.ts';
import { PricingService } from './pricing.service.ts';

@ApiTags('models')
@Controller('models')
export class ModelsController {
  constructor(
    private readonly models: ModelsService,
    private readonly pricing: PricingService,
  ) {}

  @Get()
  @Permission('admin')
  list(@Query({ schema: modelListSchema }) query: ModelList) {
    return this.models.list(query);
  }

  @Post()
  @Permission('admin')
  create(@FromCaller() caller: Caller, @Body({ schema: createModelSchema }) body: CreateModel) {
    return this.models.create(caller, body);
  }

  @Get('market')
  @Permission('user')
  market(@Query({ schema: marketSchema }) query: MarketList) {
    return this.models.market(query);
  }

  @Get('pricing')
  @Permission('user')
  prices(@Query({ schema: priceListSchema }) query: PriceList) {
    return this.pricing.list(query);
  }

  @Post('pricing')
  @Permission('admin')
  setPrice(@FromCaller() caller: Caller, @Body({ schema: setPriceSchema }) body: SetPrice) {
    return this.pricing.set(caller, body);
  }

  @Get(':id')
  @Permission('admin')
  get(@IdPath() id: number) {
    return this.models.get(id);
  }

  @Put(':id')
  @Permission('admin')
  update(@FromCaller() caller: Caller, @IdPath() id: number, @Body({ schema: updateModelSchema }) body: UpdateModel) {
    return this.models.update(caller, id, body);
  }

  @Post(':id/enable')
  @Permission('admin')
  @HttpCode(200)
  enable(@FromCaller() caller: Caller, @IdPath() id: number) {
    return this.models.setShelf(caller, id, true);
  }

  @Post(':id/disable')
  @Permission('admin')
  @HttpCode(200)
  disable(@FromCaller() caller: Caller, @IdPath() id: number) {
    return this.models.setShelf(caller, id, false);
  }
}
