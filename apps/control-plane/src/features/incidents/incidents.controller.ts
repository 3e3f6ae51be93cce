import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import {
  refusalCountsAnswer,
  refusalCountsSchema,
  refusedRequestPage,
  refusedRequestsSchema,
  upstreamErrorPage,
  upstreamErrorsSchema,
  type RefusalCounts,
  type RefusedRequests,
  type UpstreamErrors,
} from './incidents.dto.ts';
import { IncidentsService } from './incidents.service.ts';

@ApiTags('incidents')
@Controller()
export class IncidentsController {
  constructor(private readonly incidents: IncidentsService) {}

  @Get('refused-requests')
  @Permission('user')
  @Answers(
    'Requests that were refused, newest first: the first 100 of each key and minute, for 7 days',
    refusedRequestPage,
  )
  refused(
    @FromCaller() caller: Caller,
    @Query({ schema: refusedRequestsSchema }) query: RefusedRequests,
  ) {
    return this.incidents.refused(caller, query);
  }

  @Get('refused-requests/counts')
  @Permission('user')
  @Answers('How many requests were refused, by key and reason, the most first', refusalCountsAnswer)
  counts(
    @FromCaller() caller: Caller,
    @Query({ schema: refusalCountsSchema }) query: RefusalCounts,
  ) {
    return this.incidents.counts(caller, query);
  }

  @Get('upstream-errors')
  @Permission('admin')
  @Answers(
    'List excerpts of the errors that upstreams answered, newest first, kept 7 days; nodes with ERROR_EXCERPTS=on report them',
    upstreamErrorPage,
  )
  upstreamErrors(@Query({ schema: upstreamErrorsSchema }) query: UpstreamErrors) {
    return this.incidents.upstreamErrors(query);
  }
}
