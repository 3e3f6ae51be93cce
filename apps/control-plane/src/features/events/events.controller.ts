import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AccountScope } from '../../platform/access/account-scope.ts';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { Streams } from '../../platform/openapi/answers.ts';
import { EventStreams } from './event-streams.ts';
import { eventsQuery, streamEventSchema, type EventsQuery } from './events.dto.ts';

@ApiTags('events')
@Controller('events')
export class EventsController {
  constructor(
    private readonly streams: EventStreams,
    private readonly scope: AccountScope,
  ) {}

  @Get()
  @Permission('user')
  @Streams(
    'What happens, as it happens: server-sent events of alerts, nodes, newest requests and balances. Users see what is theirs. `Last-Event-ID` resumes at any replica',
    streamEventSchema,
    { refuses: ['too_many_streams'] },
  )
  async open(
    @FromCaller() caller: Caller,
    @Query({ schema: eventsQuery }) query: EventsQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const userId = await this.scope.resolveList(caller, query.user_id);
    await this.streams.open(caller, userId, { request, response });
  }
}
