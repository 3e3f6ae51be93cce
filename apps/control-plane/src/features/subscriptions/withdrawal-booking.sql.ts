import { Injectable } from '@nestjs/common';
import { micros } from '@tollgate/money';
import type { EntityManager } from 'typeorm';
import { isDeleted } from '../users/read-accounts.sql.ts';
import { LedgerService } from '../wallet/ledger.service.ts';
import { TokenLedger, type LockedSubscription } from './token-ledger.service.ts';

/** Books a withdrawal from Redis: the tokens leave their lots, their cost returns to the wallet, and the subscription closes. */
@Injectable()
export class WithdrawalBooking {
  constructor(
    private readonly tokens: TokenLedger,
    private readonly ledger: LedgerService,
  ) {}

  /** `closes` is the id of the withdrawal itself; null for tokens that a running request releases into it later. */
  async book(
    tx: EntityManager,
    subscription: LockedSubscription,
    { reference, tokens, closes }: { reference: string; tokens: number; closes: string | null },
  ): Promise<void> {
    const { refund } = await this.tokens.withdraw(tx, subscription, { reference, tokens });
    await this.ledger.post(tx, {
      kind: 'refund',
      reference,
      actorUserId: null,
      entries: [
        { account: { kind: 'revenue' }, amount: micros(-refund) },
        { account: { kind: 'wallet', userId: subscription.userId }, amount: micros(refund) },
      ],
    });
    await this.forfeitOfDeleted(tx, { userId: subscription.userId, reference, refund });
    if (closes !== null) await this.close(tx, subscription.id, closes);
  }

  /** Forfeits the refund of an account after its deletion, as its wallet was, because it could not be spent. */
  private async forfeitOfDeleted(
    tx: EntityManager,
    { userId, reference, refund }: { userId: number; reference: string; refund: bigint },
  ): Promise<void> {
    if (!(await isDeleted(tx, userId))) return;
    await this.ledger.post(tx, {
      kind: 'forfeit',
      reference,
      actorUserId: null,
      note: 'Refund of a deleted account',
      entries: [
        { account: { kind: 'wallet', userId }, amount: micros(-refund) },
        { account: { kind: 'revenue' }, amount: micros(refund) },
      ],
    });
  }

  /** Closes the subscription, so that the account may subscribe again. */
  private async close(tx: EntityManager, id: number, withdrawalId: string): Promise<void> {
    await tx.query(
      `UPDATE subscriptions SET status = 'closed', closed_at = now(), revision = revision + 1, updated_at = now() WHERE id = $1 AND status = 'closing' AND withdrawal_id = $2`,
      [id, withdrawalId],
    );
  }
}
