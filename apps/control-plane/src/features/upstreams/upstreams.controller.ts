import { Body, Controller, Delete, Get, HttpCode, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { pageOf } from '../../platform/http/list-query.ts';
import { IdempotencyKey } from '../../platform/idempotency/idempotency.ts';
import { Answers, AnswersNothing } from '../../platform/openapi/answers.ts';
import { IdPath, IndexPath } from '../../platform/http/id-path.ts';
import {
  connectionTestBody,
  connectionTestSchema,
  offeredModelsSchema,
  type ConnectionTestBody,
} from './connection-test.dto.ts';
import { ConnectionTestService } from './connection-test.service.ts';
import {
  createCredentialSchema,
  credentialResponseSchema,
  updateCredentialSchema,
  upstreamDetailSchema,
  type CreateCredential,
  type UpdateCredential,
} from './credentials.dto.ts';
import { CredentialsService } from './credentials.service.ts';
import { PRESETS } from './upstream-presets.ts';
import {
  createUpstreamSchema,
  presetsSchema,
  updateUpstreamSchema,
  upstreamListSchema,
  upstreamResponseSchema,
  type CreateUpstream,
  type UpdateUpstream,
  type UpstreamList,
} from './upstreams.dto.ts';
import { UpstreamsService } from './upstreams.service.ts';

@ApiTags('upstreams')
@Controller('upstreams')
export class UpstreamsController {
  constructor(
    private readonly upstreams: UpstreamsService,
    private readonly tests: ConnectionTestService,
    private readonly credentials: CredentialsService,
  ) {}

  @Get()
  @Permission('admin')
  @Answers('List upstreams', pageOf(upstreamResponseSchema))
  list(@Query({ schema: upstreamListSchema }) query: UpstreamList) {
    return this.upstreams.list(query);
  }

  @Post()
  @Permission('admin')
  @Answers('Add an upstream', upstreamResponseSchema, { refuses: ['upstream_name_taken'] })
  create(
    @FromCaller() caller: Caller,
    @Body({ schema: createUpstreamSchema }) body: CreateUpstream,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ) {
    return this.upstreams.create(caller, body, idempotencyKey);
  }

  @Get('presets')
  @Permission('admin')
  @Answers(
    'List the presets of providers and servers, for `preset` of a new upstream',
    presetsSchema,
  )
  presets() {
    return PRESETS;
  }

  @Get(':id')
  @Permission('admin')
  @Answers('One upstream, without its keys, and how its credentials do', upstreamDetailSchema)
  async get(@IdPath() id: number) {
    const upstream = await this.upstreams.get(id);
    return { ...upstream, credentials: await this.credentials.statesOf(id) };
  }

  @Post(':id/credentials')
  @Permission('admin')
  @Answers(
    'Add a credential beside those of an upstream; sealed to the address that it has',
    credentialResponseSchema,
    { refuses: ['credential_name_taken'] },
  )
  addCredential(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Body({ schema: createCredentialSchema }) body: CreateCredential,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ) {
    return this.credentials.create(caller, id, body, idempotencyKey);
  }

  @Put(':id/credentials/:credential_id')
  @Permission('admin')
  @Answers(
    "Replace, weight, name, disable or enable one credential; 0 is the upstream's own",
    credentialResponseSchema,
    { refuses: ['credential_name_taken'] },
  )
  updateCredential(
    @FromCaller() caller: Caller,
    @IdPath() upstreamId: number,
    @IndexPath('credential_id') id: number,
    @Body({ schema: updateCredentialSchema }) body: UpdateCredential,
  ) {
    return this.credentials.update(caller, { upstreamId, id }, body);
  }

  @Delete(':id/credentials/:credential_id')
  @Permission('admin')
  @AnswersNothing('Delete one credential; what its account stores is reached no more')
  @HttpCode(204)
  async deleteCredential(
    @FromCaller() caller: Caller,
    @IdPath() upstreamId: number,
    @IndexPath('credential_id') id: number,
  ) {
    await this.credentials.delete(caller, { upstreamId, id });
  }

  @Put(':id')
  @Permission('admin')
  @Answers(
    'Change the given fields of an upstream; `api_key` omitted = kept, null = removed',
    upstreamResponseSchema,
    { refuses: ['upstream_name_taken'] },
  )
  update(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Body({ schema: updateUpstreamSchema }) body: UpdateUpstream,
  ) {
    return this.upstreams.update(caller, id, body);
  }

  @Post(':id/test')
  @Permission('admin')
  @Answers(
    'Send one small request to an upstream; the provider bills its tokens, no account is charged',
    connectionTestSchema,
  )
  @HttpCode(200)
  test(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Body({ schema: connectionTestBody }) body: ConnectionTestBody,
  ) {
    return this.tests.run(caller, id, body);
  }

  @Post(':id/models')
  @Permission('admin')
  @Answers('Ask the provider which models it lists', offeredModelsSchema)
  @HttpCode(200)
  models(@IdPath() id: number) {
    return this.tests.offered(id);
  }

  @Delete(':id')
  @Permission('admin')
  @AnswersNothing('Delete an upstream that no route leads to', { refuses: ['upstream_in_use'] })
  @HttpCode(204)
  async delete(@FromCaller() caller: Caller, @IdPath() id: number) {
    await this.upstreams.delete(caller, id);
  }
}
