import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, MoreThan, type EntityManager, type Repository } from 'typeorm';
import { AccountScope } from '../../platform/access/account-scope.ts';
import { issueAccessToken } from '../../platform/access/access-tokens.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { IN_FUTURE, readPage, type Page } from '../../platform/http/list-query.ts';
import { invalidField, noSuch, Refusal } from '../../platform/http/refusal.ts';
import { Idempotency } from '../../platform/idempotency/idempotency.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { lockActiveAccount } from '../users/read-accounts.sql.ts';
import { AccessTokenRow } from './access-token.entity.ts';
import {
  ADMIN_IS_FOR_ADMINISTRATORS,
  LIFETIME_DAYS_MAX,
  TOO_FAR,
  toAccessToken,
  type AccessToken,
  type AccessTokensQuery,
  type CreateAccessToken,
  type CreatedAccessToken,
} from './access-tokens.dto.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const LIFETIME_DAYS = 90;
/** An account has at most this many tokens, so that no account fills the table. It is more than an account needs. */
const TOKENS_MAX = 50;

@Injectable()
export class AccessTokensService {
  constructor(
    @InjectRepository(AccessTokenRow) private readonly tokens: Repository<AccessTokenRow>,
    private readonly scope: AccountScope,
    private readonly transactions: Transactions,
    private readonly idempotency: Idempotency,
    private readonly activity: ActivityService,
  ) {}

  /** Lists valid or revoked tokens. Expired ones stay listed, so that a script's failure can be explained. */
  async list(caller: Caller, query: AccessTokensQuery): Promise<Page<AccessToken>> {
    const userId = await this.scope.resolve(caller, query.user_id);
    const builder = this.tokens
      .createQueryBuilder('token')
      .where('token.userId = :userId', { userId })
      .andWhere(query.is_revoked ? 'token.revokedAt IS NOT NULL' : 'token.revokedAt IS NULL');
    return readPage(builder, query, {
      columns: {
        id: 'token.id',
        name: 'token.name',
        created_at: 'token.createdAt',
        expires_at: 'token.expiresAt',
        last_used_at: 'token.lastUsedAt',
      },
      search: ['token.name', 'token.tokenPrefix'],
      map: toAccessToken,
    });
  }

  /** Creates a token for the caller's own account. A token for another account would act in its name. */
  async create(
    caller: Caller,
    body: CreateAccessToken,
    key: string | undefined,
  ): Promise<CreatedAccessToken> {
    if (body.scope === 'admin' && caller.role !== 'admin')
      throw invalidField('scope', ADMIN_IS_FOR_ADMINISTRATORS);
    const expiresAt = expiryOf(body.expires_at);
    const issued = issueAccessToken();
    const { userId } = caller;
    const { name, scope } = body;
    const request = { userId, route: 'POST /auth/tokens', key, body, status: 201 };
    return this.idempotency.run({ ...request, secrets: ['token'] }, async (tx) => {
      await this.keepBelowLimit(tx, userId);
      const row = await tx.getRepository(AccessTokenRow).save({
        userId,
        name,
        scope,
        tokenHash: issued.hash,
        tokenPrefix: issued.prefix,
        expiresAt,
        lastUsedAt: null,
        lastUsedAddress: null,
        revokedAt: null,
      });
      const after = toAccessToken(row);
      this.activity.record(tx, caller, {
        action: 'access_token.create',
        target: { kind: 'access_token', id: row.id },
        after,
      });
      return { ...after, token: issued.token };
    });
  }

  /** Returns a token, also a revoked one. It throws not_found for tokens of other accounts. */
  async find(caller: Caller, id: number): Promise<AccessToken> {
    const row = await this.tokens.findOneBy({ id });
    if (!row || !this.scope.isReachable(caller, row.userId)) throw noSuch('access token', id);
    return toAccessToken(row);
  }

  async revoke(caller: Caller, id: number): Promise<void> {
    await this.transactions.run(async (tx) => {
      const row = await tx
        .getRepository(AccessTokenRow)
        .findOne({ where: { id }, lock: { mode: 'pessimistic_write' } });
      if (!row || row.revokedAt !== null || !this.scope.isReachable(caller, row.userId))
        throw noSuch('access token', id);
      await tx.getRepository(AccessTokenRow).update({ id }, { revokedAt: new Date() });
      this.activity.record(tx, caller, {
        action: 'access_token.revoke',
        target: { kind: 'access_token', id },
        before: toAccessToken(row),
      });
    });
  }

  /** The account's row is locked: of two simultaneous calls the second sees the token of the first, or that the account is frozen. */
  private async keepBelowLimit(tx: EntityManager, userId: number): Promise<void> {
    if (!(await lockActiveAccount(tx, userId))) throw new Refusal('unauthenticated');
    const count = await tx
      .getRepository(AccessTokenRow)
      .countBy({ userId, revokedAt: IsNull(), expiresAt: MoreThan(new Date()) });
    if (count >= TOKENS_MAX)
      throw new Refusal('limit_reached', {
        detail: `An account has at most ${TOKENS_MAX} access tokens; revoke one first`,
      });
  }
}

function expiryOf(text: string | undefined): Date {
  if (text === undefined) return new Date(Date.now() + LIFETIME_DAYS * DAY_MS);
  const ahead = Date.parse(text) - Date.now();
  if (ahead <= 0) throw invalidField('expires_at', IN_FUTURE);
  if (ahead > LIFETIME_DAYS_MAX * DAY_MS) throw invalidField('expires_at', TOO_FAR);
  return new Date(text);
}
