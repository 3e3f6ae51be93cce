import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { z } from 'zod';
import { Housekeeping } from '../housekeeping/housekeeping.ts';
import { Refusal } from '../http/refusal.ts';
import type { RefusalCode } from '../http/refusals.ts';
import type { Visitor } from '../http/visitor.ts';
import { ROLES, type Identity } from './caller.ts';
import { SESSION_SECONDS, SessionToken } from './session-token.ts';

/**
 * One account has at most this many sessions. A further sign-in ends the session that was idle longest, so that a script that signs in repeatedly
 * cannot fill the table.
 */
const SESSIONS_MAX = 50;
/** Acts that grant further powers need a password that was entered within this time, so that an open or stolen session is not enough. */
const PASSWORD_FRESH_SECONDS = 15 * 60;
/** `last_seen_at` is information for people. Writing it at every request would make each read a write. */
const SEEN_EVERY_SECONDS = 60;
const FORGET_AFTER_DAYS = 7;

const sessionRow = z.object({
  username: z.string(),
  role: z.enum(ROLES),
  status: z.string(),
  session_version: z.number(),
  is_one_time: z.boolean(),
  is_stale: z.boolean(),
  is_password_fresh: z.boolean(),
});

/**
 * Manages sessions. A session is a signed token and a row. The end of the row, the account's session version and the account's status each revoke the
 * session from the next request on.
 */
@Injectable()
export class Sessions {
  constructor(
    private readonly tokens: SessionToken,
    private readonly dataSource: DataSource,
    housekeeping: Housekeeping,
  ) {
    housekeeping.add('forgetting old sessions', () => this.forgetOld());
  }

  /** Begins a session and returns its token. */
  async issue(
    account: { userId: number; sessionVersion: number },
    visitor: Visitor,
  ): Promise<string> {
    const sid = randomUUID();
    await this.dataSource.query(
      `INSERT INTO sessions (sid, user_id, version, address, user_agent, expires_at)
       VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))`,
      [
        sid,
        account.userId,
        account.sessionVersion,
        visitor.address,
        visitor.userAgent,
        SESSION_SECONDS,
      ],
    );
    await this.dataSource.query(
      `UPDATE sessions SET ended_at = now() WHERE sid IN (
         SELECT sid FROM sessions WHERE user_id = $1 AND ended_at IS NULL AND expires_at > now()
         ORDER BY last_seen_at DESC, created_at DESC OFFSET $2)`,
      [account.userId, SESSIONS_MAX],
    );
    return this.tokens.sign({ userId: account.userId, version: account.sessionVersion, sid });
  }

  /** Opens a session; throws `unauthenticated` for a token that does not belong to a current session of an active account. */
  async open(token: string): Promise<Identity> {
    const claimed = this.tokens.verify(token);
    if (!claimed) throw new Refusal('unauthenticated');
    const { userId, version, sid } = claimed;
    const rows: unknown[] = await this.dataSource.query(
      `SELECT u.username, u.role, u.status, u.session_version, u.one_time_until IS NOT NULL AS is_one_time,
         s.last_seen_at < now() - make_interval(secs => $3) AS is_stale,
         s.password_at > now() - make_interval(secs => $4) AS is_password_fresh
       FROM users u JOIN sessions s ON s.sid = $2 AND s.user_id = u.id AND s.ended_at IS NULL AND s.expires_at > now()
       WHERE u.id = $1`,
      [userId, sid, SEEN_EVERY_SECONDS, PASSWORD_FRESH_SECONDS],
    );
    const row = sessionRow.safeParse(rows[0]).data;
    const stands = row?.session_version === version && row.status === 'active';
    if (!row || !stands) throw new Refusal('unauthenticated');
    if (row.is_stale)
      await this.dataSource.query('UPDATE sessions SET last_seen_at = now() WHERE sid = $1', [sid]);
    return {
      userId,
      username: row.username,
      role: row.role,
      credential: {
        kind: 'session',
        sid,
        version,
        isPasswordFresh: row.is_password_fresh,
      },
      mustChangePassword: row.is_one_time,
    };
  }

  /** Records that the password was entered again. Returns the time until which it counts as fresh. */
  async confirm(tx: EntityManager, sid: string): Promise<Date> {
    const [rows]: [{ until: Date }[], number] = await tx.query(
      `UPDATE sessions SET password_at = now() WHERE sid = $1 RETURNING now() + make_interval(secs => $2) AS until`,
      [sid, PASSWORD_FRESH_SECONDS],
    );
    return z.object({ until: z.date() }).parse(rows[0]).until;
  }

  /** Ends one session of an account. Returns false when the account has no valid session with that id. */
  async end(tx: EntityManager, session: { userId: number; sid: string }): Promise<boolean> {
    const [, ended]: [unknown, number] = await tx.query(
      `UPDATE sessions s SET ended_at = now() FROM users u
       WHERE s.sid = $2 AND s.user_id = $1 AND u.id = s.user_id AND u.session_version = s.version
         AND s.ended_at IS NULL AND s.expires_at > now()`,
      [session.userId, session.sid],
    );
    return ended > 0;
  }

  private async forgetOld(): Promise<void> {
    await this.dataSource.query(
      'DELETE FROM sessions WHERE expires_at < now() - make_interval(days => $1)',
      [FORGET_AFTER_DAYS],
    );
  }
}

/** Returns the reason why an account that proved its identity is still refused; undefined if it is not. */
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
