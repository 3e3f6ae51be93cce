import { Injectable } from '@nestjs/common';
import { DomainEvents } from '../../../platform/domain-events/domain-events.ts';
import { PurchasesAllowed } from '../../budgets/budgets.service.ts';
import { CreditsApplied } from '../../live-state/live-facts.ts';
import { WalletCredited } from '../../wallet/ledger.service.ts';
import { AutoRechargeService } from './auto-recharge.service.ts';

/** Makes auto-recharge check subscriptions at once: after tokens reached Redis, money came into a wallet, or a budget of purchases allows more. */
@Injectable()
export class AutoRechargeTriggers {
  constructor(recharge: AutoRechargeService, events: DomainEvents) {
    events.on(CreditsApplied, async ({ subscriptionId }) => recharge.consider([subscriptionId]));
    events.on(WalletCredited, ({ userId }) => recharge.rearm(userId, 'insufficient_funds'));
    events.on(PurchasesAllowed, ({ userId }) => recharge.rearm(userId, 'limit_reached'));
  }
}
