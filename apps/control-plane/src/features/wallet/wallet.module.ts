import { Module } from '@nestjs/common';
import { LedgerService } from './ledger.service.ts';

@Module({
  providers: [LedgerService],
  exports: [LedgerService],
})
export class WalletModule {}
