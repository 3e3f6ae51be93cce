import { Injectable } from '@nestjs/common';
import { formatAmount, micros } from '@tollgate/money';
import type { EntityManager } from 'typeorm';
import { Refusal } from '../../platform/http/refusal.ts';
import type { Actor } from '../activity/activity.service.ts';
import { KeysService } from '../keys/keys.service.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { WithdrawalsService } from '../subscriptions/withdrawals.service.ts';
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
    private readonly withdrawals: WithdrawalsService,
    private readonly keys: KeysService,
    private readonly liveState: LiveStateService,
  ) {}

  /** Throws account_not_empty unless the account holds nothing, or what it holds is forfeited: money now, tokens when Redis gives them out. Its keys go with it. */
  async emptyAccount(tx: EntityManager, { userId, actor, forfeit, drain }: Closing): Promise<void> {
    // Subscriptions before the wallet: the order in which purchases lock them.
    const tokens = await this.withdrawals.tokensOf(tx, userId);
    if (tokens > 0 && !forfeit) throw new Refusal('account_not_empty', { detail: `The account holds ${tokens} tokens; add ?forfeit=true to give them up` });
    await this.withdrawals.closeAll(tx, { userId }, drain);
    const balance = await this.ledger.walletForUpdate(tx, userId);
    if (balance > 0n && !forfeit) throw new Refusal('account_not_empty', { detail: `The wallet holds ${formatAmount(balance)}; add ?forfeit=true to give it up` });
    await this.ledger.post(tx, {
      kind: 'forfeit',
      reference: `user:${userId}`,
      actorUserId: actor.userId,
      note: 'Account deleted',
      entries: [{ account: { kind: 'wallet', userId }, amount: micros(-balance) }, { account: { kind: 'revenue' }, amount: balance }],
    });
    await this.keys.deleteAll(tx, userId, drain);
  }

  /** The live record follows with the commit. */
  async followAccount(tx: EntityManager, userId: number): Promise<void> {
    await this.liveState.accountChanged(tx, userId);
  }
}
