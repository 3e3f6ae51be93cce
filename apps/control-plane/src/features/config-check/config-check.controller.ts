import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Permission } from '../../platform/access/permission.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import { nodeScopeSchema, type NodeScope } from '../proxy-nodes/proxy-nodes.dto.ts';
import { configCheckSchema } from './config-check.dto.ts';
import { ConfigCheck } from './config-check.service.ts';

@ApiTags('proxy')
@Controller('proxy/config-check')
export class ConfigCheckController {
  constructor(private readonly checker: ConfigCheck) {}

  @Get()
  @Permission('admin')
  @Answers('Compile without publishing and list what is wrong', configCheckSchema)
  configCheck(@Query({ schema: nodeScopeSchema }) scope: NodeScope) {
    return this.checker.check(scope.node_id);
  }
}
