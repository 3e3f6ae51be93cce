import { Body, Controller, Delete, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { FreshPassword, Permission, SessionOnly } from '../../platform/access/permission.ts';
import { IdPath } from '../../platform/http/id-path.ts';
import { pageOf } from '../../platform/http/list-query.ts';
import { IdempotencyKey } from '../../platform/idempotency/idempotency.ts';
import { Answers, AnswersNothing } from '../../platform/openapi/answers.ts';
import {
  accessTokenSchema,
  accessTokensQuery,
  createAccessTokenBody,
  createdAccessTokenSchema,
  type AccessTokensQuery,
  type CreateAccessToken,
} from './access-tokens.dto.ts';
import { AccessTokensService } from './access-tokens.service.ts';

@ApiTags('auth')
@Controller('auth/tokens')
export class AccessTokensController {
  constructor(private readonly tokens: AccessTokensService) {}

  @Get()
  @Permission('user')
  @Answers('List the access tokens of an account', pageOf(accessTokenSchema))
  list(
    @FromCaller() caller: Caller,
    @Query({ schema: accessTokensQuery }) query: AccessTokensQuery,
  ) {
    return this.tokens.list(caller, query);
  }

  @Post()
  @Permission('user')
  @FreshPassword()
  @Answers(
    'Make an access token for scripts; the answer shows it, once',
    createdAccessTokenSchema,
    {
      refuses: ['limit_reached'],
    },
  )
  create(
    @FromCaller() caller: Caller,
    @Body({ schema: createAccessTokenBody }) body: CreateAccessToken,
    @IdempotencyKey() key: string | undefined,
  ) {
    return this.tokens.create(caller, body, key);
  }

  @Delete(':id')
  @Permission('user')
  @SessionOnly()
  @AnswersNothing('Revoke an access token')
  @HttpCode(204)
  async revoke(@FromCaller() caller: Caller, @IdPath() id: number) {
    await this.tokens.revoke(caller, id);
  }
}
