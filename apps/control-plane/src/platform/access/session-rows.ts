import type { EntityManager } from 'typeorm';

/** Locks the row of the session until `tx` ends. */
export async function lockSession(tx: EntityManager, sid: string): Promise<void> {
  await tx.query('SELECT 1 FROM sessions WHERE sid = $1 FOR UPDATE', [sid]);
}

/** Returns the SQL condition that the session `sid` is valid and its account is active. */
export const sessionStands = (sid: string): string =>
  `EXISTS (SELECT 1 FROM sessions s JOIN users u ON u.id = s.user_id
     WHERE s.sid = ${sid} AND s.ended_at IS NULL AND s.expires_at > now() AND u.status = 'active' AND u.session_version = s.version)`;

/** Returns the SQL expression for the last use of an account's sessions. */
export const lastSeenOf = (userId: string): string =>
  `(SELECT max(s.last_seen_at) FROM sessions s WHERE s.user_id = ${userId})`;
