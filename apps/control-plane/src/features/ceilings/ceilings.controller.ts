import { Body, Controller, Get, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import { ceilingsBody, ceilingsSchema, type CeilingsBody } from './ceilings.dto.ts';
import { CeilingsService } from './ceilings.service.ts';

@ApiTags('ceilings')
@Controller('admin/ceilings')
export class CeilingsController {
  constructor(private readonly ceilings: CeilingsService) {}

  @Get()
  @Permission('admin')
  @Answers('What the request limits of keys are bounded by', ceilingsSchema)
  get() {
    return this.ceilings.read();
  }

  @Put()
  @Permission('admin')
  @Answers('Bound the request limits of keys of all accounts without own ceilings', ceilingsSchema)
  update(@FromCaller() caller: Caller, @Body({ schema: ceilingsBody }) body: CeilingsBody) {
    return this.ceilings.change(caller, body);
  }
}
