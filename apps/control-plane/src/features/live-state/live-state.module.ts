import { Module } from '@nestjs/common';
import { BookedWithdrawals } from './booked-withdrawals.sql.ts';
import { LiveBalances } from './live-balances.ts';
import { LiveRecordAudit } from './live-record-audit.ts';
import { LiveRecordWriter } from './live-record-writer.ts';
import { LiveRows } from './live-rows.sql.ts';
import { LiveStatePump } from './live-state-pump.ts';
import { LostTail } from './lost-tail.ts';
import { LiveStateService } from './live-state.service.ts';

@Module({
  providers: [
    BookedWithdrawals,
    LiveRows,
    LiveRecordAudit,
    LiveRecordWriter,
    LiveStatePump,
    LiveStateService,
    LiveBalances,
    LostTail,
  ],
  exports: [LiveRecordAudit, LiveRecordWriter, LiveStateService, LiveStatePump, LiveBalances],
})
export class LiveStateModule {}
