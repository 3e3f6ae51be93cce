import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivityModule } from '../activity/activity.module.ts';
import { LedgerAccount, LedgerEntry, LedgerTransaction } from './ledger.entity.ts';
import { LedgerService } from './ledger.service.ts';
import { WalletLogsService } from './wallet-logs.service.ts';
import { WalletCorrections } from './wallet-corrections.ts';
import { WalletController } from './wallet.controller.ts';
import { WalletService } from './wallet.service.ts';

@Module({
  imports: [
    TypeOrmModule.forFeature([LedgerAccount, LedgerTransaction, LedgerEntry]),
    ActivityModule,
  ],
  controllers: [WalletController],
  providers: [WalletCorrections, LedgerService, WalletService, WalletLogsService],
  exports: [LedgerService, WalletService, WalletLogsService, WalletCorrections],
})
export class WalletModule {}
