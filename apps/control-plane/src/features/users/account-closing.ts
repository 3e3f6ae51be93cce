import { Injectable } from '@nestjs/common';
import { formatAmount, micros } from '@tollgate/money';
import type { EntityManager } from 'typeorm';
import { Refusal } from '../../platform/http/refusal.ts';
import type { Actor } from '../activity/activity.service.ts';
import { LedgerService } from '../wallet/ledger.service.ts';

export interface Closing {
  userId: number;
  actor: Actor;
  forfeit: boolean;
  drain: boolean;
}

/** What hangs on an account outside its own row: the wallet, the tokens, the live record. */
@Injectable()
export class AccountClosing {
  constructor(private readonly ledger: LedgerService) {}

  /** Throws account_not_empty unless the account holds nothing or its owner's money and tokens are forfeited; the ledger then says so. */
  async emptyAccount(tx: EntityManager, { userId, actor, forfeit }: Closing): Promise<void> {
    const balance = await this.ledger.walletForUpdate(tx, userId);
    if (balance > 0n && !forfeit) throw new Refusal('account_not_empty', { detail: `The wallet holds ${formatAmount(balance)}; add ?forfeit=true to give it up` });
    await this.ledger.post(tx, {
      kind: 'forfeit',
      reference: `user:${userId}`,
      actorUserId: actor.userId,
      note: 'Account deleted',
      entries: [{ account: { kind: 'wallet', userId }, amount: micros(-balance) }, { account: { kind: 'revenue' }, amount: balance }],
    });
  }

  /** The live record follows with the commit. */
  async followAccount(_tx: EntityManager, _userId: number): Promise<void> {}
}
