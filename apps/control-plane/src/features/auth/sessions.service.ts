import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { AccountScope } from '../../platform/access/account-scope.ts';
import { sessionIdOf, type Caller } from '../../platform/access/caller.ts';
import { Sessions } from '../../platform/access/sessions.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { readPage, type Page } from '../../platform/http/list-query.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { AccountsService } from '../users/accounts.service.ts';
import { SessionRow } from './session.entity.ts';
import {
  toSessionEntry,
  type LogoutBody,
  type SessionEntry,
  type SessionsQuery,
} from './sessions.dto.ts';

@Injectable()
export class SessionsService {
  constructor(
    @InjectRepository(SessionRow) private readonly rows: Repository<SessionRow>,
    private readonly sessions: Sessions,
    private readonly scope: AccountScope,
    private readonly accounts: AccountsService,
    private readonly transactions: Transactions,
    private readonly activity: ActivityService,
  ) {}

  /** Lists the valid sessions. */
  async list(caller: Caller, query: SessionsQuery): Promise<Page<SessionEntry>> {
    const userId = await this.scope.resolve(caller, query.user_id);
    const account = await this.accounts.findById(userId);
    const builder = this.rows
      .createQueryBuilder('session')
      .where('session.userId = :userId', { userId })
      .andWhere('session.endedAt IS NULL AND session.expiresAt > now()')
      .andWhere('session.version = :version', { version: account?.sessionVersion ?? null });
    return readPage(builder, query, {
      columns: { created_at: 'session.createdAt', last_seen_at: 'session.lastSeenAt' },
      map: (row) => toSessionEntry(row, caller),
    });
  }

  async end(caller: Caller, sid: string): Promise<void> {
    const row = await this.rows.findOneBy({ id: sid });
    if (!row || !this.scope.isReachable(caller, row.userId)) throw noSuchSession();
    await this.transactions.run(async (tx) => {
      if (!(await this.sessions.end(tx, { userId: row.userId, sid }))) throw noSuchSession();
      this.activity.record(tx, caller, {
        action: 'session.end',
        target: { kind: 'session', id: sid },
        before: { user_id: row.userId, address: row.address, user_agent: row.userAgent },
      });
    });
  }

  /** Ends the session of this request, or all sessions of the account. */
  async logout(caller: Caller, { all = false }: LogoutBody): Promise<{ status: 'signed_out' }> {
    const { userId } = caller;
    const sid = sessionIdOf(caller);
    await this.transactions.run(async (tx) => {
      if (all) await this.accounts.endSessions(tx, userId);
      else await this.sessions.end(tx, { userId, sid });
    });
    return { status: 'signed_out' };
  }
}

function noSuchSession(): Refusal {
  return new Refusal('not_found', { detail: 'There is no such session' });
}
