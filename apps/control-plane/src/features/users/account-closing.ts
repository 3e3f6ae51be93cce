import { Inject, Injectable } from '@nestjs/common';
import { formatAmount, micros, type Micros } from '@tollgate/money';
import type { EntityManager } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import type { Actor } from '../activity/activity.service.ts';
import { KeysService } from '../keys/keys.service.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { WithdrawalsService } from '../subscriptions/withdrawals.service.ts';
import { PayoutsService } from '../payments/payouts.service.ts';
import { LedgerService } from '../wallet/ledger.service.ts';

export interface Closing {
  userId: number;
  actor: Actor;
  forfeit: boolean;
  drain: boolean;
}

/** What hangs on an account outside its own row: the wallet, the tokens, the keys, the live record. */
@Injectable()
export class AccountClosing {
  constructor(
    private readonly ledger: LedgerService,
    private readonly payouts: PayoutsService,
    private readonly withdrawals: WithdrawalsService,
    private readonly keys: KeysService,
    private readonly liveState: LiveStateService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Throws account_not_empty unless the account holds nothing, or what it holds is forfeited: money now, tokens when Redis gives them out. Its keys go with it. */
  async emptyAccount(tx: EntityManager, { userId, actor, forfeit, drain }: Closing): Promise<void> {
    // Subscriptions before the wallet: the order in which purchases lock them.
    const tokens = await this.withdrawals.tokensOf(tx, userId);
    await this.withdrawals.closeAll(tx, { userId }, drain);
    const pending = await this.payouts.pendingOf(tx, userId);
    if (pending > 0n)
      throw new Refusal('account_not_empty', {
        detail: `Payouts of ${formatAmount(pending)} ${this.config.CURRENCY} are on their way and may return`,
      });
    const balance = await this.ledger.walletForUpdate(tx, userId);
    if (!forfeit && (balance > 0n || tokens > 0))
      throw new Refusal('account_not_empty', { detail: this.refusalOf(balance, tokens) });
    await this.ledger.post(tx, {
      kind: 'forfeit',
      reference: `user:${userId}`,
      actorUserId: actor.userId,
      note: 'Account deleted',
      entries: [
        { account: { kind: 'wallet', userId }, amount: micros(-balance) },
        { account: { kind: 'revenue' }, amount: balance },
      ],
    });
    await this.keys.deleteAll(tx, userId, drain);
  }

  /** The live record follows with the commit. */
  async followAccount(tx: EntityManager, userId: number): Promise<void> {
    await this.liveState.accountChanged(tx, userId);
  }

  private refusalOf(balance: Micros, tokens: number): string {
    const held = [
      ...(balance > 0n ? [`${formatAmount(balance)} ${this.config.CURRENCY}`] : []),
      ...(tokens > 0 ? [`${tokens} tokens`] : []),
    ];
    return `The account holds ${held.join(' and ')}; add ?forfeit=true to give ${held.length > 1 || tokens > 0 ? 'them' : 'it'} up`;
  }
}
