import { Injectable } from '@nestjs/common';
import { DomainEvents } from '../../../platform/domain-events/domain-events.ts';
import { PurchasesAllowed } from '../../budgets/budgets.service.ts';
import { CreditsApplied } from '../../live-state/live-facts.ts';
import { WalletCredited } from '../../wallet/ledger.service.ts';
import { AutoRechargeService } from './auto-recharge.service.ts';

/** Makes auto-recharge look at subscriptions at once: tokens that reached Redis, money that came into a wallet, and a budget of purchases that allows more. */
@Injectable()
export class AutoRechargeTriggers {
  constructor(recharge: AutoRechargeService, events: DomainEvents) {
    events.on(CreditsApplied, async ({ subscriptionId }) => recharge.consider([subscriptionId]));
    events.on(WalletCredited, ({ userId }) => recharge.rearm(userId, 'insufficient_funds'));
    events.on(PurchasesAllowed, ({ userId }) => recharge.rearm(userId, 'limit_reached'));
  }
}
