import { Body, Controller, Delete, Get, HttpCode, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { pageOf, type IdsQuery } from '../../platform/http/list-query.ts';
import { IdempotencyKey } from '../../platform/idempotency/idempotency.ts';
import { Answers, AnswersNothing } from '../../platform/openapi/answers.ts';
import { IdPath } from '../../platform/http/id-path.ts';
import {
  createdKeyResponseSchema,
  createKeySchema,
  drainKeySchema,
  keyListSchema,
  keyResponseSchema,
  keyWindowsSchema,
  listedKeySchema,
  rotateKeySchema,
  updateKeySchema,
  windowsListSchema,
  windowsOfSchema,
  type CreateKey,
  type DrainKey,
  type KeyList,
  type RotateKey,
  type UpdateKey,
} from './keys.dto.ts';
import { KeyWindowsService } from './key-windows.service.ts';
import { KeysService } from './keys.service.ts';
import { ListedKeys } from './listed-keys.service.ts';

@ApiTags('keys')
@Controller('keys')
export class KeysController {
  constructor(
    private readonly keys: KeysService,
    private readonly listed: ListedKeys,
    private readonly windows: KeyWindowsService,
  ) {}

  @Get()
  @Permission('user')
  @Answers('List keys; administrators see those of all accounts', pageOf(listedKeySchema))
  list(@FromCaller() caller: Caller, @Query({ schema: keyListSchema }) query: KeyList) {
    return this.listed.list(caller, query);
  }

  @Post()
  @Permission('user')
  @Answers('Create a key; the answer shows it, once', createdKeyResponseSchema, {
    refuses: ['not_found', 'limit_reached'],
  })
  create(
    @FromCaller() caller: Caller,
    @Body({ schema: createKeySchema }) body: CreateKey,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ) {
    return this.keys.create(caller, body, idempotencyKey);
  }

  @Post(':id/rotate')
  @Permission('user')
  @Answers(
    'Make another key like this one, which stays good until the overlap ends',
    createdKeyResponseSchema,
    { refuses: ['limit_reached', 'temporary_key'] },
  )
  rotate(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Body({ schema: rotateKeySchema }) body: RotateKey,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ) {
    return this.keys.rotate(caller, id, { body, idempotencyKey });
  }

  @Get('windows')
  @Permission('user')
  @Answers(
    'How full the request windows of several keys are now; keys that are unknown or of others are left out',
    windowsListSchema,
    { refuses: ['service_unavailable'] },
  )
  async readManyWindows(
    @FromCaller() caller: Caller,
    @Query({ schema: windowsOfSchema }) { ids }: IdsQuery,
  ) {
    return { data: await this.windows.readMany(caller, ids) };
  }

  @Get(':id')
  @Permission('user')
  @Answers('One key', listedKeySchema)
  get(@FromCaller() caller: Caller, @IdPath() id: number) {
    return this.listed.get(caller, id);
  }

  @Get(':id/windows')
  @Permission('user')
  @Answers('How full the request windows of a key are now', keyWindowsSchema, {
    refuses: ['service_unavailable'],
  })
  readWindows(@FromCaller() caller: Caller, @IdPath() id: number) {
    return this.windows.read(caller, id);
  }

  @Put(':id')
  @Permission('user')
  @Answers('Change the given fields of a key', keyResponseSchema, { refuses: ['temporary_key'] })
  update(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Body({ schema: updateKeySchema }) body: UpdateKey,
  ) {
    return this.keys.update(caller, id, body);
  }

  @Delete(':id')
  @Permission('user')
  @AnswersNothing('Delete a key; running streams end at their next checkpoint unless `drain`')
  @HttpCode(204)
  async delete(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Query({ schema: drainKeySchema }) query: DrainKey,
  ) {
    await this.keys.delete(caller, id, query.drain ?? false);
  }

  @Post(':id/enable')
  @Permission('user')
  @Answers('Enable a key', keyResponseSchema, { refuses: ['temporary_key'] })
  @HttpCode(200)
  enable(@FromCaller() caller: Caller, @IdPath() id: number) {
    return this.keys.enable(caller, id);
  }

  @Post(':id/disable')
  @Permission('user')
  @Answers(
    'Disable a key from the next request on; running streams end at their next checkpoint unless `drain`',
    keyResponseSchema,
    { refuses: ['temporary_key'] },
  )
  @HttpCode(200)
  disable(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Query({ schema: drainKeySchema }) query: DrainKey,
  ) {
    return this.keys.disable(caller, id, query.drain ?? false);
  }
}
