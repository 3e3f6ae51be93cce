import { Body, Controller, Delete, Get, HttpCode, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { pageOf } from '../../platform/http/list-query.ts';
import { IdempotencyKey } from '../../platform/idempotency/idempotency.ts';
import { Answers, AnswersNothing } from '../../platform/openapi/answers.ts';
import { IdPath } from '../../platform/http/id-path.ts';
import { createdNodeSchema, nodeResponseSchema, syncResultSchema } from './node-answers.ts';
import {
  createNodeSchema,
  nodeListSchema,
  toggleNodeSchema,
  updateNodeSchema,
  type CreateNode,
  type NodeList,
  type ToggleNode,
  type UpdateNode,
} from './proxy-nodes.dto.ts';
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
  @Answers('List nodes with what they run', pageOf(nodeResponseSchema))
  list(@Query({ schema: nodeListSchema }) query: NodeList) {
    return this.nodes.list(query);
  }

  @Post()
  @Permission('admin')
  @Answers('Register a node; the answer shows its credential, once', createdNodeSchema, {
    refuses: ['node_name_taken'],
  })
  create(
    @FromCaller() caller: Caller,
    @Body({ schema: createNodeSchema }) body: CreateNode,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ) {
    return this.nodes.create(caller, body, idempotencyKey);
  }

  @Post('sync-all')
  @Permission('admin')
  @Answers('Publish and wait, at most 10 seconds, for every node', syncResultSchema)
  @HttpCode(200)
  syncAll(@FromCaller() caller: Caller) {
    return this.proxy.syncAndWait(caller);
  }

  @Get(':id')
  @Permission('admin')
  @Answers('One node with its workers', nodeResponseSchema)
  get(@IdPath() id: number) {
    return this.nodes.get(id);
  }

  @Put(':id')
  @Permission('admin')
  @Answers('Rename a node or change its address', nodeResponseSchema, {
    refuses: ['node_name_taken'],
  })
  update(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Body({ schema: updateNodeSchema }) body: UpdateNode,
  ) {
    return this.nodes.update(caller, id, body);
  }

  @Delete(':id')
  @Permission('admin')
  @AnswersNothing('Remove a node; it cannot register itself again')
  @HttpCode(204)
  async delete(@FromCaller() caller: Caller, @IdPath() id: number) {
    await this.nodes.delete(caller, id);
  }

  @Post(':id/toggle')
  @Permission('admin')
  @Answers('Enable or disable a node; without a body it flips', nodeResponseSchema)
  @HttpCode(200)
  toggle(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Body({ schema: toggleNodeSchema }) body: ToggleNode,
  ) {
    return this.nodes.toggle(caller, id, body);
  }

  @Post(':id/sync-config')
  @Permission('admin')
  @Answers('Publish and wait, at most 10 seconds, for this node', syncResultSchema)
  @HttpCode(200)
  sync(@FromCaller() caller: Caller, @IdPath() id: number) {
    return this.proxy.syncAndWait(caller, id);
  }
}
