import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import { requestId } from '../usage/api/usage.controller.ts';
import {
  endedRequestAnswer,
  endRequestSchema,
  runningRequestsAnswer,
  runningRequestsSchema,
  type EndRequest,
  type RunningRequests,
} from './running.dto.ts';
import { RunningService } from './running.service.ts';

@ApiTags('incidents')
@Controller('running-requests')
export class RunningController {
  constructor(private readonly running: RunningService) {}

  @Get()
  @Permission('user')
  @Answers(
    'Requests that run at this moment; administrators see those of all accounts',
    runningRequestsAnswer,
  )
  list(
    @FromCaller() caller: Caller,
    @Query({ schema: runningRequestsSchema }) query: RunningRequests,
  ) {
    return this.running.list(caller, query.user_id);
  }

  @Post(':rid/end')
  @Permission('user')
  @Answers(
    'End a request as if its client had left: it is charged what its upstream bills',
    endedRequestAnswer,
    { refuses: ['not_found'] },
  )
  @HttpCode(200)
  end(
    @FromCaller() caller: Caller,
    @Param('rid', requestId) rid: string,
    @Body({ schema: endRequestSchema }) { reason }: EndRequest,
  ) {
    return this.running.end(caller, rid, reason);
  }
}
