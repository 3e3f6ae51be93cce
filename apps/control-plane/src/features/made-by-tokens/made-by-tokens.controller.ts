import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission, SessionOnly } from '../../platform/access/permission.ts';
import { cursorPageOf } from '../../platform/http/cursor.ts';
import { IdPath } from '../../platform/http/id-path.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import {
  disabledMadeSchema,
  disableMadeBody,
  madeQuery,
  madeSchema,
  type DisableMadeBody,
  type MadeQuery,
} from './made-by-tokens.dto.ts';
import { MadeByTokens } from './made-by-tokens.service.ts';

@ApiTags('auth')
@Controller('auth/tokens')
export class MadeByTokensController {
  constructor(private readonly made: MadeByTokens) {}

  @Get(':id/made')
  @Permission('user')
  @Answers(
    'What an access token made, also one that is revoked, newest first',
    cursorPageOf(madeSchema),
  )
  list(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Query({ schema: madeQuery }) query: MadeQuery,
  ) {
    return this.made.list(caller, id, query);
  }

  @Post(':id/disable-made')
  @Permission('user')
  @SessionOnly()
  @Answers(
    'Disable what an access token made: accounts are frozen, keys and upstreams disabled, nodes removed',
    disabledMadeSchema,
  )
  @HttpCode(200)
  disable(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Body({ schema: disableMadeBody }) body: DisableMadeBody,
  ) {
    return this.made.disable(caller, id, body);
  }
}
