import { Inject, Injectable } from '@nestjs/common';
import { formatAmount, micros, type Micros } from '@tollgate/money';
import type { EntityManager } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { AccountScope } from '../../platform/access/account-scope.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import { uuidv7 } from '../../platform/http/visitor.ts';
import { Idempotency } from '../../platform/idempotency/idempotency.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { LedgerService, type HouseAccount } from './ledger.service.ts';
import type { AdjustBody, WalletCorrection, WithdrawBody } from './wallet.dto.ts';

const MICROS_PER_UNIT = 1_000_000n;

interface Correction {
  kind: 'adjustment' | 'payout';
  /** Names the account of the house that loses what the wallet gains. */
  against: HouseAccount;
  userId: number;
  /** Is the signed amount, positive when the wallet gains. */
  amount: Micros;
  note: string;
}

/**
 * Posts manual changes of a wallet by an administrator, who undoes an error or books money that was paid out. The ledger keeps every entry; nothing
 * is edited.
 */
@Injectable()
export class WalletCorrections {
  constructor(
    private readonly ledger: LedgerService,
    private readonly scope: AccountScope,
    private readonly idempotency: Idempotency,
    private readonly activity: ActivityService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Adjusts a wallet by an administrator. Throws insufficient_funds when the wallet would fall below zero. */
  async adjust(
    caller: Caller,
    key: string | undefined,
    body: AdjustBody,
  ): Promise<WalletCorrection> {
    this.refuseBeyondLimit(body.amount);
    return this.idempotency.run(
      { userId: caller.userId, route: 'POST /wallet/adjust', key, body, status: 200 },
      (tx) =>
        this.post(tx, caller, {
          kind: 'adjustment',
          against: 'grants',
          userId: body.user_id,
          amount: body.amount,
          note: body.note,
        }),
    );
  }

  /** Books money that was paid out by hand. Throws insufficient_funds when the wallet holds less. */
  async withdrawByHand(
    caller: Caller,
    key: string | undefined,
    body: Omit<WithdrawBody, 'to'>,
  ): Promise<WalletCorrection> {
    this.refuseBeyondLimit(body.amount);
    return this.idempotency.run(
      { userId: caller.userId, route: 'POST /wallet/withdraw', key, body, status: 200 },
      (tx) => this.payOut(tx, caller, body),
    );
  }

  /** Debits the wallet by the paid-out amount. Throws as `withdrawByHand`. */
  payOut(
    tx: EntityManager,
    caller: Caller,
    body: Omit<WithdrawBody, 'to'>,
  ): Promise<WalletCorrection> {
    return this.post(tx, caller, {
      kind: 'payout',
      against: 'payments',
      userId: body.user_id,
      amount: micros(-body.amount),
      note: body.note,
    });
  }

  private async post(
    tx: EntityManager,
    caller: Caller,
    { kind, against, userId, amount, note }: Correction,
  ): Promise<WalletCorrection> {
    await this.scope.resolve(caller, userId, tx);
    await this.scope.keep(tx, userId);
    const posted = await this.ledger.post(tx, {
      kind,
      reference: uuidv7(Date.now()),
      actorUserId: caller.userId,
      note,
      entries: [
        { account: { kind: 'wallet', userId }, amount },
        { account: { kind: against }, amount: micros(-amount) },
      ],
    });
    if (!posted) throw new Error('a correction that moves nothing');
    this.activity.record(tx, caller, {
      action: `wallet.${kind}`,
      target: { kind: 'user', id: userId },
      after: { amount: formatAmount(amount), note },
    });
    return {
      transaction_id: posted.id,
      user_id: userId,
      amount: formatAmount(amount),
      balance: formatAmount(posted.balances[0]?.balance ?? 0n),
      currency: this.config.CURRENCY,
    };
  }

  refuseBeyondLimit(amount: Micros): void {
    const most = BigInt(this.config.WALLET_CORRECTION_MAX) * MICROS_PER_UNIT;
    if (amount > most || -amount > most)
      throw new Refusal('correction_limit', {
        detail: `At most ${this.config.WALLET_CORRECTION_MAX} ${this.config.CURRENCY} at a time (WALLET_CORRECTION_MAX)`,
      });
  }
}
