import { Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { dumpSchema, nodeScopeSchema, type DumpQuery, type NodeScope } from './proxy-nodes.dto.ts';
import { ProxyService } from './proxy.service.ts';

@ApiTags('proxy')
@Controller('proxy')
export class ProxyController {
  constructor(private readonly proxy: ProxyService) {}

  @Get('status')
  @Permission('admin')
  status(@Query({ schema: nodeScopeSchema }) scope: NodeScope) {
    return this.proxy.status(scope);
  }

  @Post('start')
  @Permission('admin')
  @HttpCode(200)
  start(@FromCaller() caller: Caller, @Query({ schema: nodeScopeSchema }) scope: NodeScope) {
    return this.proxy.setStopped(caller, false, scope);
  }

  @Post('stop')
  @Permission('admin')
  @HttpCode(200)
  stop(@FromCaller() caller: Caller, @Query({ schema: nodeScopeSchema }) scope: NodeScope) {
    return this.proxy.setStopped(caller, true, scope);
  }

  @Post('reload')
  @Permission('admin')
  @HttpCode(200)
  reload(@FromCaller() caller: Caller, @Query({ schema: nodeScopeSchema }) scope: NodeScope) {
    return this.proxy.reload(caller, scope);
  }

  @Get('config-check')
  @Permission('admin')
  configCheck(@Query({ schema: nodeScopeSchema }) scope: NodeScope) {
    return this.proxy.configCheck(scope);
  }

  @Get('stats')
  @Permission('admin')
  stats(@Query({ schema: nodeScopeSchema }) scope: NodeScope) {
    return this.proxy.stats(scope);
  }

  @Get('stats/dict')
  @Permission('admin')
  statsRows(@Query({ schema: dumpSchema }) query: DumpQuery) {
    return this.proxy.statsRows(query);
  }

  @Get('health')
  @Permission('admin')
  health(@Query({ schema: nodeScopeSchema }) scope: NodeScope) {
    return this.proxy.health(scope);
  }

  @Post('sync-config')
  @Permission('admin')
  @HttpCode(200)
  publish(@FromCaller() caller: Caller, @Query({ schema: nodeScopeSchema }) scope: NodeScope) {
    return this.proxy.publish(caller, scope);
  }
}
