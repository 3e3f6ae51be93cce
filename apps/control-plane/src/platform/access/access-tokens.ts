import { createHash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { z } from 'zod';
import { Refusal } from '../http/refusal.ts';
import { ROLES, TOKEN_SCOPES, type Identity } from './caller.ts';

/** The prefix distinguishes an access token from a session token. Scanners for leaked secrets also look for it. */
const PREFIX = 'tgp_';
const TOKEN = /^tgp_[A-Za-z0-9_-]{43}$/;
const SECRET_BYTES = 32;
const SHOWN_CHARS = 10;
/** `last_used_at` is information for people. Writing it at every request would make each read a write. */
const USED_EVERY_SECONDS = 60;

const tokenRow = z.object({
  id: z.number(),
  user_id: z.number(),
  scope: z.enum(TOKEN_SCOPES),
  username: z.string(),
  role: z.enum(ROLES),
  is_stale: z.boolean(),
});

export interface IssuedToken {
  token: string;
  hash: string;
  /** The prefix is long enough to recognise a token in a list and too short to use it. */
  prefix: string;
}

export function issueAccessToken(): IssuedToken {
  const token = `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64url')}`;
  return { token, hash: hashOf(token), prefix: token.slice(0, SHOWN_CHARS) };
}

export function isAccessToken(token: string): boolean {
  return token.startsWith(PREFIX);
}

/** Manages the personal access tokens of scripts. A token has 256 random bits; the database keeps only its hash. */
@Injectable()
export class AccessTokens {
  constructor(private readonly dataSource: DataSource) {}

  /** Opens an access token; throws `unauthenticated` unless the token is valid and its owner is active. */
  async open(token: string, address: string): Promise<Identity> {
    if (!TOKEN.test(token)) throw new Refusal('unauthenticated');
    const rows: unknown[] = await this.dataSource.query(
      `SELECT t.id, t.user_id, t.scope, u.username, u.role,
         (t.last_used_at IS NULL OR t.last_used_at < now() - make_interval(secs => $2)
           OR t.last_used_address IS DISTINCT FROM $3) AS is_stale
       FROM access_tokens t JOIN users u ON u.id = t.user_id
       WHERE t.token_hash = $1 AND t.revoked_at IS NULL AND t.expires_at > now() AND u.status = 'active'`,
      [hashOf(token), USED_EVERY_SECONDS, address],
    );
    const row = tokenRow.safeParse(rows[0]).data;
    if (!row) throw new Refusal('unauthenticated');
    if (row.is_stale)
      await this.dataSource.query(
        'UPDATE access_tokens SET last_used_at = now(), last_used_address = $2 WHERE id = $1',
        [row.id, address],
      );
    return {
      userId: row.user_id,
      username: row.username,
      role: row.role,
      credential: { kind: 'access_token', id: row.id, scope: row.scope },
      mustChangePassword: false,
    };
  }
}

/** Revokes the tokens of an account whose password others may know. */
export async function revokeAccessTokens(tx: EntityManager, userId: number): Promise<void> {
  await tx.query(
    'UPDATE access_tokens SET revoked_at = now() WHERE user_id = $1 AND revoked_at IS NULL',
    [userId],
  );
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
