import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../config.ts';
import { sessionIdOf, type Caller } from '../../platform/access/caller.ts';
import { Sessions, statusRefusal } from '../../platform/access/sessions.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import type { Visitor } from '../../platform/http/visitor.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { AccountsService } from '../users/accounts.service.ts';
import { Attempts } from './attempts.sql.ts';
import {
  toSessionResponse,
  type ConfirmedPassword,
  type ConfirmPasswordBody,
  type IssuedSession,
  type LoginBody,
  type MeResponse,
  type PasswordBody,
  type RegisterBody,
  type RegisteredResponse,
} from './auth.dto.ts';
import { Passwords } from '../../platform/access/passwords.ts';

@Injectable()
export class AuthService {
  constructor(
    private readonly accounts: AccountsService,
    private readonly passwords: Passwords,
    private readonly attempts: Attempts,
    private readonly sessions: Sessions,
    private readonly transactions: Transactions,
    private readonly activity: ActivityService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Signs in. An unknown name and a wrong password get the same answer after the same time. Only a caller who knows the password learns the account's
   * status.
   */
  async login(visitor: Visitor, { username, password }: LoginBody): Promise<IssuedSession> {
    await this.attempts.beforeSignIn({ username, address: visitor.address });
    const account = await this.accounts.findByName(username);
    const isRight = await this.passwords.verify(password, account?.passwordHash);
    const isOver = account?.oneTimeUntil != null && account.oneTimeUntil.getTime() <= Date.now();
    if (!account || !isRight || isOver) throw new Refusal('invalid_credentials');
    await this.attempts.afterSignIn({ username, address: visitor.address });
    const refusal = statusRefusal(account.status);
    if (refusal) throw new Refusal(refusal);
    return toSessionResponse(account, await this.sessions.issue(account, visitor));
  }

  async register(
    visitor: Visitor,
    { username, password }: RegisterBody,
  ): Promise<RegisteredResponse> {
    await this.attempts.beforeRegistration(
      visitor.address,
      this.config.REGISTRATIONS_PER_ADDRESS_PER_DAY,
    );
    const passwordHash = await this.passwords.hash(password);
    return this.transactions.run(async (tx) => {
      const account = await this.accounts.create(tx, {
        username,
        passwordHash,
        role: 'user',
        status: 'pending',
      });
      this.activity.record(
        tx,
        { ...visitor, userId: account.userId, username },
        {
          action: 'user.register',
          target: { kind: 'user', id: account.userId },
          after: { username, status: account.status },
        },
      );
      return { id: account.userId, username: account.username, status: account.status };
    });
  }

  async me(caller: Caller): Promise<MeResponse> {
    const account = await this.accounts.findById(caller.userId);
    if (!account) throw new Refusal('unauthenticated');
    return {
      id: account.userId,
      username: account.username,
      role: account.role,
      status: account.status,
      created_at: account.createdAt.toISOString(),
      password_change_needed: account.oneTimeUntil !== null,
    };
  }

  /** Changes the password, ends every other session and returns a new one. */
  async changePassword(caller: Caller, body: PasswordBody): Promise<IssuedSession> {
    await this.verifyPassword(caller, body.current_password);
    const passwordHash = await this.passwords.hash(body.new_password);
    const changed = await this.transactions.run((tx) => {
      this.activity.record(tx, caller, {
        action: 'user.password',
        target: { kind: 'user', id: caller.userId },
      });
      return this.accounts.setPassword(tx, caller.userId, passwordHash);
    });
    return toSessionResponse(changed, await this.sessions.issue(changed, caller));
  }

  /** Confirms the password for acts that need a recent one. */
  async confirmPassword(
    caller: Caller,
    { password }: ConfirmPasswordBody,
  ): Promise<ConfirmedPassword> {
    const sid = sessionIdOf(caller);
    await this.verifyPassword(caller, password);
    return this.transactions.run(async (tx) => {
      this.activity.record(tx, caller, {
        action: 'session.confirm',
        target: { kind: 'session', id: sid },
      });
      return { confirmed_until: (await this.sessions.confirm(tx, sid)).toISOString() };
    });
  }

  /** Verifies the caller's password. Throws wrong_password, and rate_limited as for a sign-in. */
  private async verifyPassword(caller: Caller, password: string): Promise<void> {
    const who = { username: caller.username, address: caller.address };
    await this.attempts.beforeSignIn(who);
    const account = await this.accounts.findById(caller.userId);
    if (!(await this.passwords.verify(password, account?.passwordHash)))
      throw new Refusal('wrong_password');
    await this.attempts.afterSignIn(who);
  }
}
