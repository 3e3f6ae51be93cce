import { Inject, Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { CONFIG, derivedKey, type Config } from '../../config.ts';
import { Refusal } from '../http/refusal.ts';
import type { RefusalCode } from '../http/refusals.ts';
import type { Role } from './caller.ts';

export const SESSION_SECONDS = 12 * 60 * 60;
const ALGORITHM = 'HS256';
const ISSUER = 'tollgate';
const AUDIENCE = 'tollgate-admin-api';
const TOKEN_CHARS_MAX = 2048;

/** Strict on purpose: a missing or textual `exp` must not mean "never" (security S16). */
const claims = z.strictObject({
  sub: z.string().regex(/^[1-9]\d{0,9}$/),
  version: z.number().int().positive(),
  iss: z.literal(ISSUER),
  aud: z.literal(AUDIENCE),
  iat: z.number().int().positive(),
  exp: z.number().int().positive(),
});
const header = z.strictObject({ alg: z.literal(ALGORITHM), typ: z.literal('JWT') });

const sessionRow = z.object({
  id: z.number(),
  username: z.string(),
  role: z.enum(['admin', 'user']),
  status: z.string(),
  session_version: z.number(),
});

export interface SessionAccount {
  userId: number;
  username: string;
  role: Role;
}

/** Sessions are signed tokens that the account's session version and status can revoke at any request. */
@Injectable()
export class Sessions {
  private readonly secret: Buffer;

  constructor(
    private readonly jwt: JwtService,
    private readonly dataSource: DataSource,
    @Inject(CONFIG) config: Config,
  ) {
    this.secret = derivedKey(config.JWT_SECRET, 'session');
  }

  issue(account: { userId: number; sessionVersion: number }): string {
    return this.jwt.sign(
      { version: account.sessionVersion },
      {
        secret: this.secret,
        algorithm: ALGORITHM,
        issuer: ISSUER,
        audience: AUDIENCE,
        subject: String(account.userId),
        expiresIn: SESSION_SECONDS,
      },
    );
  }

  /** Throws `unauthenticated` for every token that does not stand for an active account's present session. */
  async open(token: string): Promise<SessionAccount> {
    const { userId, version } = this.verify(token);
    const rows: unknown[] = await this.dataSource.query(
      'SELECT id, username, role, status, session_version FROM users WHERE id = $1',
      [userId],
    );
    const row = sessionRow.safeParse(rows[0]);
    if (!row.success || row.data.session_version !== version || row.data.status !== 'active')
      throw new Refusal('unauthenticated');
    return { userId, username: row.data.username, role: row.data.role };
  }

  private verify(token: string): { userId: number; version: number } {
    if (token.length > TOKEN_CHARS_MAX) throw new Refusal('unauthenticated');
    try {
      const { header: head, payload } = this.jwt.verify(token, {
        secret: this.secret,
        algorithms: [ALGORITHM],
        issuer: ISSUER,
        audience: AUDIENCE,
        complete: true,
      });
      header.parse(head);
      const { sub, version } = claims.parse(payload);
      return { userId: Number(sub), version };
    } catch {
      throw new Refusal('unauthenticated');
    }
  }
}

/** Why an account that proved who it is may still not come in; undefined when it may. */
export function statusRefusal(status: string): RefusalCode | undefined {
  switch (status) {
    case 'active':
      return undefined;
    case 'pending':
      return 'account_pending';
    case 'rejected':
      return 'account_rejected';
    case 'frozen':
      return 'account_frozen';
    default:
      return 'invalid_credentials';
  }
}
