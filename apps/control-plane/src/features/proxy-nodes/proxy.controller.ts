import { Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import {
  fleetHealthSchema,
  fleetStatusSchema,
  nodesSchema,
  publishedSchema,
  reloadedSchema,
  statsRowsSchema,
  statsSchema,
} from './node-answers.ts';
import { FleetStatusService } from './fleet-status.service.ts';
import { dumpSchema, nodeScopeSchema, type DumpQuery, type NodeScope } from './proxy-nodes.dto.ts';
import { ProxyService } from './proxy.service.ts';

@ApiTags('proxy')
@Controller('proxy')
export class ProxyController {
  constructor(
    private readonly proxy: ProxyService,
    private readonly fleet: FleetStatusService,
  ) {}

  @Get('status')
  @Permission('admin')
  @Answers('What is published and what every node runs', fleetStatusSchema)
  status(@Query({ schema: nodeScopeSchema }) scope: NodeScope) {
    return this.fleet.status(scope);
  }

  @Post('start')
  @Permission('admin')
  @Answers('Let stopped nodes serve again', nodesSchema)
  @HttpCode(200)
  start(@FromCaller() caller: Caller, @Query({ schema: nodeScopeSchema }) scope: NodeScope) {
    return this.proxy.setStopped(caller, false, scope);
  }

  @Post('stop')
  @Permission('admin')
  @Answers('Stop nodes; they finish their streams and stay stopped over restarts', nodesSchema)
  @HttpCode(200)
  stop(@FromCaller() caller: Caller, @Query({ schema: nodeScopeSchema }) scope: NodeScope) {
    return this.proxy.setStopped(caller, true, scope);
  }

  @Post('reload')
  @Permission('admin')
  @Answers('Have nodes pull the current version again', reloadedSchema)
  @HttpCode(200)
  reload(@FromCaller() caller: Caller, @Query({ schema: nodeScopeSchema }) scope: NodeScope) {
    return this.proxy.reload(caller, scope);
  }

  @Get('stats')
  @Permission('admin')
  @Answers('In-memory tables of every worker', statsSchema)
  stats(@Query({ schema: nodeScopeSchema }) scope: NodeScope) {
    return this.fleet.stats(scope);
  }

  @Get('stats/dict')
  @Permission('admin')
  @Answers('Rows of one in-memory table, secrets redacted', statsRowsSchema)
  statsRows(@Query({ schema: dumpSchema }) query: DumpQuery) {
    return this.fleet.statsRows(query);
  }

  @Get('health')
  @Permission('admin')
  @Answers('Which nodes serve what is published', fleetHealthSchema)
  health(@Query({ schema: nodeScopeSchema }) scope: NodeScope) {
    return this.fleet.health(scope);
  }

  @Post('sync-config')
  @Permission('admin')
  @Answers('Publish without waiting for nodes', publishedSchema)
  @HttpCode(200)
  publish(@FromCaller() caller: Caller, @Query({ schema: nodeScopeSchema }) scope: NodeScope) {
    return this.proxy.publish(caller, scope);
  }
}
