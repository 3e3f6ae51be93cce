import type { EntityManager } from 'typeorm';

/** Others that lock this session wait until `tx` ends. */
export async function lockSession(tx: EntityManager, sid: string): Promise<void> {
  await tx.query('SELECT 1 FROM sessions WHERE sid = $1 FOR UPDATE', [sid]);
}

/** SQL: the session `sid` stands, and its account is active. */
export const sessionStands = (sid: string): string =>
  `EXISTS (SELECT 1 FROM sessions s JOIN users u ON u.id = s.user_id
     WHERE s.sid = ${sid} AND s.ended_at IS NULL AND s.expires_at > now() AND u.status = 'active' AND u.session_version = s.version)`;

/** SQL: when one of an account's sessions was last used. */
export const lastSeenOf = (userId: string): string =>
  `(SELECT max(s.last_seen_at) FROM sessions s WHERE s.user_id = ${userId})`;
