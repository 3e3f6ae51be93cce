import type { EntityManager } from 'typeorm';
import { z } from 'zod';

const sidRow = z.object({ sid: z.string() });

/** Others that lock this session wait until `tx` ends. */
export async function lockSession(tx: EntityManager, sid: string): Promise<void> {
  await tx.query('SELECT 1 FROM sessions WHERE sid = $1 FOR UPDATE', [sid]);
}

/** Those of these sessions that still stand, and whose account is active. */
export async function standingSessions(
  tx: EntityManager,
  sids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows: unknown[] = await tx.query(
    `SELECT s.sid FROM sessions s JOIN users u ON u.id = s.user_id
     WHERE s.sid = ANY($1::uuid[]) AND s.ended_at IS NULL AND s.expires_at > now()
       AND u.status = 'active' AND u.session_version = s.version`,
    [sids],
  );
  return new Set(rows.map((row) => sidRow.parse(row).sid));
}
