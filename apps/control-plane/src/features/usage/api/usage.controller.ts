import { Controller, Get, Param, Query, type PipeTransform } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../../platform/access/caller.ts';
import { Permission } from '../../../platform/access/permission.ts';
import { cursorPageOf } from '../../../platform/http/cursor.ts';
import { Answers } from '../../../platform/openapi/answers.ts';
import { Refusal } from '../../../platform/http/refusal.ts';
import { isRequestId } from '../ingest/read-event.ts';
import { burnRateQuery, burnRatesSchema, type BurnRateQuery } from './burn-rate.dto.ts';
import { BurnRateService } from './burn-rate.service.ts';
import {
  usageLogResponseSchema,
  usageReceiptSchema,
  usageStatisticsSchema,
  usageTopSchema,
} from './usage-answers.ts';
import { UsageLogsService } from './usage-logs.service.ts';
import { UsageReceiptService } from './usage-receipt.service.ts';
import { UsageStatisticsService } from './usage-statistics.service.ts';
import { UsageTopService } from './usage-top.service.ts';
import {
  statisticsSchema,
  topSchema,
  usageLogsSchema,
  type StatisticsQuery,
  type TopQuery,
  type UsageLogs,
} from './usage.dto.ts';

/** A text that cannot be a request's id gets 404, as an unknown request does. */
export const requestId: PipeTransform<string, string> = {
  transform(text) {
    if (!isRequestId(text)) throw new Refusal('not_found');
    return text.toLowerCase();
  },
};

@ApiTags('usage')
@Controller('usage')
export class UsageController {
  constructor(
    private readonly logs: UsageLogsService,
    private readonly statistics: UsageStatisticsService,
    private readonly receipts: UsageReceiptService,
    private readonly burnRates: BurnRateService,
    private readonly tops: UsageTopService,
  ) {}

  @Get('logs')
  @Permission('user')
  @Answers(
    'One row a request, newest first; administrators see all accounts',
    cursorPageOf(usageLogResponseSchema),
    { refuses: ['query_too_large'], isAlsoCsv: true },
  )
  list(@FromCaller() caller: Caller, @Query({ schema: usageLogsSchema }) query: UsageLogs) {
    return this.logs.list(caller, query);
  }

  @Get('logs/:rid/receipt')
  @Permission('user')
  @Answers('Why one request cost what it cost', usageReceiptSchema)
  receipt(@FromCaller() caller: Caller, @Param('rid', requestId) rid: string) {
    return this.receipts.receipt(caller, rid);
  }

  @Get('burn-rate')
  @Permission('user')
  @Answers('How long the tokens of each subscription last at the present pace', burnRatesSchema)
  readBurnRate(
    @FromCaller() caller: Caller,
    @Query({ schema: burnRateQuery }) query: BurnRateQuery,
  ) {
    return this.burnRates.read(caller, query.user_id);
  }

  @Get('statistics')
  @Permission('user')
  @Answers(
    'Sums by minute, hour or day, and by model, key, user or upstream',
    usageStatisticsSchema,
    {
      refuses: ['statistics_range', 'query_too_large'],
      isAlsoCsv: true,
    },
  )
  read(@FromCaller() caller: Caller, @Query({ schema: statisticsSchema }) query: StatisticsQuery) {
    return this.statistics.read(caller, query);
  }

  @Get('top')
  @Permission('user')
  @Answers(
    'The users, keys or models that used the most, the rest together, and all; administrators see all accounts',
    usageTopSchema,
    { refuses: ['statistics_range', 'query_too_large'] },
  )
  top(@FromCaller() caller: Caller, @Query({ schema: topSchema }) query: TopQuery) {
    return this.tops.read(caller, query);
  }
}
