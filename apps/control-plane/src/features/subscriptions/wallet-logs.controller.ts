import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { FromCaller, type Caller } from '../../platform/access/caller.ts';
import { Permission } from '../../platform/access/permission.ts';
import { pageOf } from '../../platform/http/list-query.ts';
import { Answers } from '../../platform/openapi/answers.ts';
import { WalletLogsService } from '../wallet/wallet-logs.service.ts';
import {
  walletLogResponseSchema,
  walletLogsQuery,
  type WalletLogsQuery,
} from '../wallet/wallet.dto.ts';
import { ModelsOfMovements } from './models-of-movements.sql.ts';

/** Lists the ledger of a wallet, with the model of each purchase and refund. */
@ApiTags('wallet')
@Controller('wallet')
export class WalletLogsController {
  constructor(
    private readonly walletLogs: WalletLogsService,
    private readonly models: ModelsOfMovements,
  ) {}

  @Get('logs')
  @Permission('user')
  @Answers('Ledger entries of the wallet, newest first', pageOf(walletLogResponseSchema), {
    isAlsoCsv: true,
  })
  logs(@FromCaller() caller: Caller, @Query({ schema: walletLogsQuery }) query: WalletLogsQuery) {
    return this.walletLogs.list(caller, query, (userId, references) =>
      this.models.find(userId, references),
    );
  }
}
