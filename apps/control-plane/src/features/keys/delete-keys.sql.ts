import type { DataSource, EntityManager } from 'typeorm';
import { sessionStands } from '../../platform/access/session-rows.ts';
import { prepared } from '../../platform/database/prepared.ts';

/** Selects temporary keys that expired or whose session has ended. Redis itself refuses an expired key. */
const ENDED = `playground_sid IS NOT NULL AND (expires_at <= now() OR NOT ${sessionStands('playground_sid')})`;
const ANY_ENDED = prepared(`SELECT 1 FROM api_keys WHERE status <> 'deleted' AND ${ENDED} LIMIT 1`);

export async function hasEndedKeys(dataSource: DataSource): Promise<boolean> {
  const ended: unknown[] = await dataSource.query(ANY_ENDED);
  return ended.length > 0;
}

/** Each of these functions deletes keys and returns their ids, whose live records change. */
export const deleteEndedKeys = (tx: EntityManager): Promise<number[]> => deleteKeys(tx, ENDED, []);

export const deleteKeysOfSession = (tx: EntityManager, sid: string): Promise<number[]> =>
  deleteKeys(tx, 'playground_sid = $1', [sid]);

export const deleteKeysOfAccount = (
  tx: EntityManager,
  userId: number,
  drain: boolean,
): Promise<number[]> => deleteKeys(tx, 'user_id = $1', [userId], drain);

async function deleteKeys(
  tx: EntityManager,
  condition: string,
  parameters: unknown[],
  drain = false,
): Promise<number[]> {
  // TypeORM returns the rows of an UPDATE and their number.
  const [rows]: [{ id: number }[], number] = await tx.query(
    `UPDATE api_keys SET status = 'deleted', drain = ${drain}, deleted_at = now(), updated_at = now(), revision = revision + 1
     WHERE status <> 'deleted' AND (${condition}) RETURNING id`,
    parameters,
  );
  return rows.map(({ id }) => id);
}
