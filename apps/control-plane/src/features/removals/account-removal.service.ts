import { Inject, Injectable } from '@nestjs/common';
import { formatAmount, micros, type Micros } from '@tollgate/money';
import type { EntityManager } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import { KeysService } from '../keys/keys.service.ts';
import { WithdrawalsService } from '../subscriptions/withdrawals.service.ts';
import { PayoutsService } from '../payments/payouts.service.ts';
import { UsersService } from '../users/users.service.ts';
import { LedgerService } from '../wallet/ledger.service.ts';
import type { RemoveAccount } from './removals.dto.ts';

/** Deletes an account with its records in other features: the wallet, the tokens, the keys. */
@Injectable()
export class AccountRemoval {
  constructor(
    private readonly transactions: Transactions,
    private readonly users: UsersService,
    private readonly ledger: LedgerService,
    private readonly payouts: PayoutsService,
    private readonly withdrawals: WithdrawalsService,
    private readonly keys: KeysService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Throws account_not_empty unless the account holds nothing or its holdings are forfeited: money now, tokens when Redis returns them. Its keys are
   * deleted, too.
   */
  async remove(caller: Caller, id: number, { drain, forfeit }: RemoveAccount): Promise<void> {
    await this.transactions.run(async (tx) => {
      const row = await this.users.lockForDemotion(tx, caller, id);
      // Subscriptions are locked before the wallet, in the order of purchases.
      const tokens = await this.withdrawals.tokensOf(tx, id);
      await this.withdrawals.closeAll(tx, { userId: id }, drain);
      await this.refusePending(tx, id);
      const balance = await this.ledger.walletForUpdate(tx, id);
      if (!forfeit && (balance > 0n || tokens > 0))
        throw new Refusal('account_not_empty', { detail: this.refusalOf(balance, tokens) });
      await this.ledger.post(tx, {
        kind: 'forfeit',
        reference: `user:${id}`,
        actorUserId: caller.userId,
        note: 'Account deleted',
        entries: [
          { account: { kind: 'wallet', userId: id }, amount: micros(-balance) },
          { account: { kind: 'revenue' }, amount: balance },
        ],
      });
      await this.keys.deleteAll(tx, id, drain);
      await this.users.markDeleted(tx, caller, { row, drain });
    });
  }

  private async refusePending(tx: EntityManager, userId: number): Promise<void> {
    const pending = await this.payouts.pendingOf(tx, userId);
    if (pending > 0n)
      throw new Refusal('account_not_empty', {
        detail: `Payouts of ${formatAmount(pending)} ${this.config.CURRENCY} are on their way and may return`,
      });
  }

  private refusalOf(balance: Micros, tokens: number): string {
    const held = [
      ...(balance > 0n ? [`${formatAmount(balance)} ${this.config.CURRENCY}`] : []),
      ...(tokens > 0 ? [`${tokens} tokens`] : []),
    ];
    return `The account holds ${held.join(' and ')}; add ?forfeit=true to give ${held.length > 1 || tokens > 0 ? 'them' : 'it'} up`;
  }
}
