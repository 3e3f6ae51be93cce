import { Injectable } from '@nestjs/common';
import { LiveRecordWriter } from '../live-state/live-record-writer.ts';
import { LedgerService } from '../wallet/ledger.service.ts';
import { AutoRechargeService } from './auto-recharge.service.ts';

/** What makes auto-recharge look at subscriptions at once: tokens that reached Redis, and money that came into a wallet. */
@Injectable()
export class AutoRechargeTriggers {
  constructor(recharge: AutoRechargeService, ledger: LedgerService, writer: LiveRecordWriter) {
    writer.listen({ credited: async (subscriptionId) => recharge.consider([subscriptionId]) });
    ledger.onWalletCredited((userId) => recharge.rearm(userId));
  }
}
