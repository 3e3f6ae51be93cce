import { Body, Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission, SessionOnly } from '../../platform/access/permission.ts';
import { IdempotencyKey } from '../../platform/idempotency/idempotency.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import {
  createTemporaryKeySchema,
  temporaryKeySchema,
  type CreateTemporaryKey,
} from '../keys/keys.dto.ts';
import { TemporaryKeysService } from '../keys/temporary-keys.service.ts';

@ApiTags('playground')
@Controller('playground')
export class PlaygroundController {
  constructor(private readonly keys: TemporaryKeysService) {}

  @Post('key')
  @Permission('user')
  @SessionOnly()
  @Answers(
    'A key for a quarter of an hour, at most 20 requests a minute; the one this session had before ends',
    temporaryKeySchema,
    { refuses: ['not_found', 'limit_reached'] },
  )
  create(
    @FromCaller() caller: Caller,
    @Body({ schema: createTemporaryKeySchema }) body: CreateTemporaryKey,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ) {
    return this.keys.create(caller, body.key_id, idempotencyKey);
  }
}
