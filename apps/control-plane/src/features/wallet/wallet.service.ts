import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { formatAmount, micros } from '@tollgate/money';
import type { Repository } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { AccountScope } from '../../platform/access/account-scope.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { uuidv7 } from '../../platform/http/visitor.ts';
import { Idempotency } from '../../platform/idempotency/idempotency.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { LedgerAccount } from './ledger.entity.ts';
import { LedgerService } from './ledger.service.ts';
import type {
  AdminRechargeBody,
  AdminRechargeResponse,
  WalletQuery,
  WalletResponse,
} from './wallet.dto.ts';

@Injectable()
export class WalletService {
  constructor(
    @InjectRepository(LedgerAccount) private readonly accounts: Repository<LedgerAccount>,
    private readonly ledger: LedgerService,
    private readonly scope: AccountScope,
    private readonly idempotency: Idempotency,
    private readonly activity: ActivityService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async get(caller: Caller, query: WalletQuery): Promise<WalletResponse> {
    const userId = await this.scope.resolve(caller, query.user_id);
    const wallet = await this.accounts.findOneBy({ userId });
    return {
      balance: formatAmount(wallet?.balance ?? 0n),
      currency: this.config.CURRENCY,
      payments: this.config.PAYMENTS,
    };
  }

  async adminRecharge(
    caller: Caller,
    key: string | undefined,
    body: AdminRechargeBody,
  ): Promise<AdminRechargeResponse> {
    const userId = await this.scope.resolve(caller, body.user_id);
    return this.idempotency.run(
      { userId: caller.userId, route: 'POST /wallet/admin-recharge', key, body, status: 200 },
      async (tx) => {
        await this.scope.keep(tx, userId);
        const wallet = { kind: 'wallet', userId } as const;
        const posted = await this.ledger.post(tx, {
          kind: 'admin_recharge',
          reference: uuidv7(Date.now()),
          actorUserId: caller.userId,
          ...(body.note ? { note: body.note } : {}),
          entries: [
            { account: { kind: 'grants' }, amount: micros(-body.amount) },
            { account: wallet, amount: body.amount },
          ],
        });
        if (!posted) throw new Error('a recharge that moves nothing');
        const amount = formatAmount(body.amount);
        this.activity.record(tx, caller, {
          action: 'wallet.admin_recharge',
          target: { kind: 'user', id: userId },
          after: { amount, note: body.note ?? null },
        });
        return {
          transaction_id: posted.id,
          user_id: userId,
          amount,
          balance: formatAmount(posted.balances[1]?.balance ?? 0n),
          currency: this.config.CURRENCY,
        };
      },
    );
  }
}
