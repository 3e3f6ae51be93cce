import type { EntityManager } from 'typeorm';
import { Refusal } from '../../platform/http/refusal.ts';
import { lockUntilEnd } from '../../platform/database/advisory-hold.ts';
import { ADVISORY_LOCKS } from '../../platform/database/advisory-locks.ts';
import { ERASURE, SYSTEM, type ActivityService } from '../activity/activity.service.ts';

/** Counts the rows that named the person, by table. */
export type Erased = Record<string, number>;

/** Is the action of an administrator who asks for an erasure in the console. Its entry names the administrator until that account is erased. */
export const ERASURE_ASKED = 'user.ask-erasure';

/** Selects counters of sign-ins by name, which include addresses. */
const OF_NAME = `$1::int > 0 AND (subject = 'name:' || lower($2::text) OR starts_with(subject, '["pair",' || to_json(lower($2::text))::text || ',')
  OR starts_with(subject, '["familiar",' || to_json(lower($2::text))::text || ','))`;

/** Maps each table to the statement that empties it in an erasure; $1 is the account, $2 its name. Rows that are already empty are not counted again. */
const NAMED: Readonly<Record<string, { where: string; change: string }>> = {
  users: {
    where: "FROM users WHERE id = $1 AND username <> 'erased-' || id",
    change:
      "UPDATE users SET username = 'erased-' || id, skeletons = '{}', password_hash = '' WHERE id = $1",
  },
  sessions: {
    where: 'FROM sessions WHERE user_id = $1',
    change: 'DELETE FROM sessions WHERE user_id = $1',
  },
  access_tokens: {
    where: 'FROM access_tokens WHERE user_id = $1',
    change: 'DELETE FROM access_tokens WHERE user_id = $1',
  },
  api_keys: {
    where: "FROM api_keys WHERE user_id = $1 AND (name <> 'erased' OR ip_allowlist <> '')",
    change: "UPDATE api_keys SET name = 'erased', ip_allowlist = '' WHERE user_id = $1",
  },
  idempotency_keys: {
    where: 'FROM idempotency_keys WHERE user_id = $1',
    change: 'DELETE FROM idempotency_keys WHERE user_id = $1',
  },
  stream_events: {
    where: 'FROM stream_events WHERE user_id = $1',
    change: 'DELETE FROM stream_events WHERE user_id = $1',
  },
  error_excerpts: {
    where: 'FROM error_excerpts WHERE user_id = $1',
    change: 'DELETE FROM error_excerpts WHERE user_id = $1',
  },
  refused_requests: {
    where: 'FROM refused_requests WHERE user_id = $1',
    change: 'DELETE FROM refused_requests WHERE user_id = $1',
  },
  attempt_counters: {
    where: `FROM attempt_counters WHERE ${OF_NAME}`,
    change: `DELETE FROM attempt_counters WHERE ${OF_NAME}`,
  },
  ledger_transactions: {
    where: `FROM ledger_transactions t WHERE note IS NOT NULL AND EXISTS
      (SELECT 1 FROM ledger_entries e JOIN ledger_accounts a ON a.id = e.ledger_account_id WHERE e.transaction_id = t.id AND a.user_id = $1)`,
    change: 'SELECT erase_notes($1)',
  },
};

/** One entry of the log excuses at most this many rows. */
const EXCUSED_MAX = 1_000;

/**
 * Empties the columns that name the person of a deleted account. Ids, amounts, tokens and times stay, so the books close. A row of the activity log
 * keeps its hash, which an entry of the log excuses. `isDryRun` only counts. Returns null when there is no such account.
 */
export async function eraseAccount(
  tx: EntityManager,
  activity: ActivityService,
  { userId, isDryRun }: { userId: number; isDryRun: boolean },
): Promise<Erased | null> {
  const [user]: { username: string; status: string }[] = await tx.query(
    'SELECT username, status FROM users WHERE id = $1 FOR UPDATE',
    [userId],
  );
  if (!user) return null;
  if (user.status !== 'deleted')
    throw new Refusal('invalid_transition', {
      detail: `The account is ${user.status}. Delete it first: its wallet and keys are closed then.`,
    });
  // No entry is appended between the read and the change.
  await lockUntilEnd(tx, [ADVISORY_LOCKS.activityChain]);
  const erased: Erased = {};
  // The entries are found by the name, which is erased next.
  const entries: Entry[] = await tx.query(
    'SELECT entry_id AS id, entry_hash AS hash FROM erase_entries($1, $2)',
    [userId, isDryRun],
  );
  for (const [table, { where, change }] of Object.entries(NAMED)) {
    const values = change.includes('$2') ? [userId, user.username] : [userId];
    const [row]: { count: string }[] = await tx.query(`SELECT count(*) ${where}`, values);
    erased[table] = Number(row?.count ?? 0);
    if (!isDryRun) await tx.query(change, values);
  }
  erased['activity_log'] = entries.length;
  if (!isDryRun) excuse(tx, activity, { userId, entries });
  return erased;
}

interface Entry {
  id: string;
  hash: string;
}

/** An emptied entry keeps its hash. */
function excuse(
  tx: EntityManager,
  activity: ActivityService,
  { userId, entries }: { userId: number; entries: readonly Entry[] },
): void {
  for (let from = 0; from < entries.length; from += EXCUSED_MAX) {
    const part = entries.slice(from, from + EXCUSED_MAX);
    activity.record(tx, SYSTEM, {
      action: ERASURE,
      target: { kind: 'user', id: userId },
      after: { entries: Object.fromEntries(part.map(({ id, hash }) => [id, hash])) },
    });
  }
}
