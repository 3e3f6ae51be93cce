import { Body, Controller, Delete, Get, HttpCode, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { IdPath } from '../../platform/http/id-path.ts';
import { createUpstreamSchema, updateUpstreamSchema, upstreamListSchema, type CreateUpstream, type UpdateUpstream, type UpstreamList } from './upstreams.dto.ts';
import { UpstreamsService } from './upstreams.service.ts';

@ApiTags('upstreams')
@Controller('upstreams')
export class UpstreamsController {
  constructor(private readonly upstreams: UpstreamsService) {}

  @Get()
  @Permission('admin')
  list(@Query({ schema: upstreamListSchema }) query: UpstreamList) {
    return this.upstreams.list(query);
  }

  @Post()
  @Permission('admin')
  create(@FromCaller() caller: Caller, @Body({ schema: createUpstreamSchema }) body: CreateUpstream) {
    return this.upstreams.create(caller, body);
  }

  @Get(':id')
  @Permission('admin')
  get(@IdPath() id: number) {
    return this.upstreams.get(id);
  }

  @Put(':id')
  @Permission('admin')
  update(@FromCaller() caller: Caller, @IdPath() id: number, @Body({ schema: updateUpstreamSchema }) body: UpdateUpstream) {
    return this.upstreams.update(caller, id, body);
  }

  @Delete(':id')
  @Permission('admin')
  @HttpCode(204)
  async delete(@FromCaller() caller: Caller, @IdPath() id: number) {
    await this.upstreams.delete(caller, id);
  }
}
