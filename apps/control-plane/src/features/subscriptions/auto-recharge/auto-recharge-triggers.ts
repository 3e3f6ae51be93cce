import { Injectable } from '@nestjs/common';
import { DomainEvents } from '../../../platform/domain-events/domain-events.ts';
import { CreditsApplied } from '../../live-state/live-facts.ts';
import { WalletCredited } from '../../wallet/ledger.service.ts';
import { AutoRechargeService } from './auto-recharge.service.ts';

/** Makes auto-recharge look at subscriptions at once: tokens that reached Redis, and money that came into a wallet. */
@Injectable()
export class AutoRechargeTriggers {
  constructor(recharge: AutoRechargeService, events: DomainEvents) {
    events.on(CreditsApplied, async ({ subscriptionId }) => recharge.consider([subscriptionId]));
    events.on(WalletCredited, ({ userId }) => recharge.rearm(userId));
  }
}
