import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { revokeAccessTokens } from '../../platform/access/access-tokens.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { noSuch, Refusal } from '../../platform/http/refusal.ts';
import { Idempotency } from '../../platform/idempotency/idempotency.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { oneTimePassword, Passwords } from '../../platform/access/passwords.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { AccountsService } from './accounts.service.ts';
import { User } from './user.entity.ts';
import {
  toUserResponse,
  type CreatedUser,
  type CreateUserBody,
  type OneTimePassword,
} from './users.dto.ts';

const ONE_TIME_MS = 7 * 24 * 60 * 60 * 1000;

/** Creates accounts and one-time passwords for an administrator. A one-time password is valid for a week, and only to set another password. */
@Injectable()
export class AccountIssuing {
  constructor(
    @InjectRepository(User) private readonly users: Repository<User>,
    private readonly accounts: AccountsService,
    private readonly passwords: Passwords,
    private readonly transactions: Transactions,
    private readonly idempotency: Idempotency,
    private readonly liveState: LiveStateService,
    private readonly activity: ActivityService,
  ) {}

  /** The account is active at once. */
  async create(
    caller: Caller,
    body: CreateUserBody,
    key: string | undefined,
  ): Promise<CreatedUser> {
    const { password, passwordHash, until } = await this.issue();
    const request = {
      userId: caller.userId,
      route: 'POST /users',
      key,
      body,
      status: 201,
      secrets: ['one_time_password'],
    };
    return this.idempotency.run(request, async (tx) => {
      const { userId } = await this.accounts.create(tx, {
        username: body.username,
        passwordHash,
        role: body.role,
        status: 'active',
        oneTimeUntil: until,
        isDemo: body.is_demo ?? false,
      });
      await this.liveState.accountChanged(tx, userId);
      const after = toUserResponse(await tx.getRepository(User).findOneByOrFail({ id: userId }));
      this.activity.record(tx, caller, {
        action: 'user.create',
        target: { kind: 'user', id: userId },
        after,
      });
      return { ...after, one_time_password: password, one_time_until: until.toISOString() };
    });
  }

  /** Sets a one-time password and ends all sessions and access tokens of the account, so that anyone with the old password loses access. */
  async resetPassword(caller: Caller, id: number): Promise<OneTimePassword> {
    if (id === caller.userId) throw new Refusal('cannot_change_self');
    const known = await this.users.findOneBy({ id });
    if (!known || known.deletedAt !== null) throw noSuch('account', id);
    const { password, passwordHash, until } = await this.issue();
    await this.transactions.run(async (tx) => {
      await this.accounts.setPassword(tx, id, passwordHash, until);
      await revokeAccessTokens(tx, id);
      this.activity.record(tx, caller, {
        action: 'user.reset_password',
        target: { kind: 'user', id },
      });
    });
    return { id, one_time_password: password, one_time_until: until.toISOString() };
  }

  private async issue(): Promise<{ password: string; passwordHash: string; until: Date }> {
    const password = oneTimePassword();
    const until = new Date(Date.now() + ONE_TIME_MS);
    return { password, passwordHash: await this.passwords.hash(password), until };
  }
}
