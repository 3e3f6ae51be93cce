import { Body, Controller, Delete, Get, HttpCode, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { IdPath } from '../../platform/http/id-path.ts';
import { createNodeSchema, nodeListSchema, toggleNodeSchema, updateNodeSchema, type CreateNode, type NodeList, type ToggleNode, type UpdateNode } from './proxy-nodes.dto.ts';
import { ProxyNodesService } from './proxy-nodes.service.ts';
import { ProxyService } from './proxy.service.ts';

@ApiTags('proxy nodes')
@Controller('proxy-nodes')
export class ProxyNodesController {
  constructor(
    private readonly nodes: ProxyNodesService,
    private readonly proxy: ProxyService,
  ) {}

  @Get()
  @Permission('admin')
  list(@Query({ schema: nodeListSchema }) query: NodeList) {
    return this.nodes.list(query);
  }

  @Post()
  @Permission('admin')
  create(@FromCaller() caller: Caller, @Body({ schema: createNodeSchema }) body: CreateNode) {
    return this.nodes.create(caller, body);
  }

  @Post('sync-all')
  @Permission('admin')
  @HttpCode(200)
  syncAll(@FromCaller() caller: Caller) {
    return this.proxy.syncAndWait(caller);
  }

  @Get(':id')
  @Permission('admin')
  get(@IdPath() id: number) {
    return this.nodes.get(id);
  }

  @Put(':id')
  @Permission('admin')
  update(@FromCaller() caller: Caller, @IdPath() id: number, @Body({ schema: updateNodeSchema }) body: UpdateNode) {
    return this.nodes.update(caller, id, body);
  }

  @Delete(':id')
  @Permission('admin')
  @HttpCode(204)
  async delete(@FromCaller() caller: Caller, @IdPath() id: number) {
    await this.nodes.delete(caller, id);
  }

  @Post(':id/toggle')
  @Permission('admin')
  @HttpCode(200)
  toggle(@FromCaller() caller: Caller, @IdPath() id: number, @Body({ schema: toggleNodeSchema }) body: ToggleNode) {
    return this.nodes.toggle(caller, id, body);
  }

  @Post(':id/sync-config')
  @Permission('admin')
  @HttpCode(200)
  sync(@FromCaller() caller: Caller, @IdPath() id: number) {
    return this.proxy.syncAndWait(caller, id);
  }
}
