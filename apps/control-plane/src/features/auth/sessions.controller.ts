import { Controller, Delete, Get, HttpCode, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission, SessionOnly } from '../../platform/access/permission.ts';
import { UuidPath } from '../../platform/http/id-path.ts';
import { pageOf } from '../../platform/http/list-query.ts';
import { Answers, AnswersNothing } from '../../platform/openapi/answers.ts';
import { sessionRowSchema, sessionsQuery, type SessionsQuery } from './sessions.dto.ts';
import { SessionsService } from './sessions.service.ts';

@ApiTags('auth')
@Controller('auth/sessions')
export class SessionsController {
  constructor(private readonly sessions: SessionsService) {}

  @Get()
  @Permission('user')
  @Answers('List the sessions of an account that still stand', pageOf(sessionRowSchema))
  list(@FromCaller() caller: Caller, @Query({ schema: sessionsQuery }) query: SessionsQuery) {
    return this.sessions.list(caller, query);
  }

  @Delete(':sid')
  @Permission('user')
  @SessionOnly()
  @AnswersNothing('End one session')
  @HttpCode(204)
  async end(@FromCaller() caller: Caller, @UuidPath('sid') sid: string) {
    await this.sessions.end(caller, sid);
  }
}
