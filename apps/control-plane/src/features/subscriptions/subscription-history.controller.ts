import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { cursorPageOf } from '../../platform/http/cursor.ts';
import { IdPath } from '../../platform/http/id-path.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import {
  tokenEntriesQuery,
  tokenEntrySchema,
  tokenLotSchema,
  tokenLotsQuery,
  type TokenEntriesQuery,
  type TokenLotsQuery,
} from './subscription-history.dto.ts';
import { SubscriptionHistoryService } from './subscription-history.service.ts';

/** Shows the token history of one subscription, also after it is closed. */
@ApiTags('models')
@Controller('subscriptions')
export class SubscriptionHistoryController {
  constructor(private readonly history: SubscriptionHistoryService) {}

  @Get(':id/lots')
  @Permission('user')
  @Answers('Purchases of a subscription and what remains of each', cursorPageOf(tokenLotSchema))
  readLots(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Query({ schema: tokenLotsQuery }) query: TokenLotsQuery,
  ) {
    return this.history.readLots(caller, id, query);
  }

  @Get(':id/ledger')
  @Permission('user')
  @Answers('Token ledger of a subscription, newest first', cursorPageOf(tokenEntrySchema), {
    isAlsoCsv: true,
  })
  readEntries(
    @FromCaller() caller: Caller,
    @IdPath() id: number,
    @Query({ schema: tokenEntriesQuery }) query: TokenEntriesQuery,
  ) {
    return this.history.readEntries(caller, id, query);
  }
}
