import { lastEvents } from '@tollgate/keyspace';
import { answerWithin } from '@tollgate/tools';
import { z } from 'zod';
import { isSound, REST, type Finding } from './finding.ts';
import { findUnarrived, type Books } from './live-checks.ts';

const BALANCES = `SELECT coalesce(md5(string_agg(concat_ws(':', id, balance, overdraft, credit_seq), ',' ORDER BY id)), '') AS balances FROM subscriptions`;
const MOVED = 'requests ended or balances changed while they were compared';

/** Sets how long an audit waits, in milliseconds. */
export interface Patience {
  /** Is the time to wait for a moment of rest. */
  drainMs: number;
  /** Is the time for what is unequal at rest to become equal: repairs may be on their way. */
  settleMs: number;
}

/**
 * Judges promises that hold at rest alone, such as equal balances in PostgreSQL and Redis: two stores, and no transaction over both. Each comparison therefore is taken between
 * two looks, and counts when neither found anything on its way and nothing ended in between. It is repeated until one is sound, or until `settleMs` after the first
 * moment of rest, at most for `drainMs`. The last one that was taken at rest is judged; without any, all that is known is that the installation did not rest.
 */
export async function judgeAtRest(
  books: Books,
  { drainMs, settleMs, take }: Patience & { take: () => Promise<Finding[]> },
): Promise<Finding[]> {
  let atRest: Finding[] | undefined;
  let firstRestAt: number | undefined;
  let [taken, unrest]: [Finding[], string[]] = [[], []];
  await answerWithin(drainMs, async () => {
    const before = await look(books);
    taken = await take();
    unrest = unrestBetween(before, await look(books));
    if (unrest.length > 0) return false;
    atRest = taken;
    firstRestAt ??= Date.now();
    return isSound(taken) || Date.now() - firstRestAt >= settleMs;
  });
  return atRest ? [...atRest, restOf([])] : [...taken.map(notJudged), restOf(unrest)];
}

interface Look {
  onTheWay: string[];
  /** Changes when a balance has moved in between, on either side. */
  standing: string;
}

async function look(books: Books): Promise<Look> {
  const onTheWay = await findUnarrived(books);
  const events = await lastEvents(books.redis, books.shards);
  const { rows } = await books.database.query(BALANCES);
  const [{ balances }] = z.tuple([z.object({ balances: z.string() })]).parse(rows);
  return { onTheWay, standing: [balances, ...events].join() };
}

function unrestBetween(before: Look, after: Look): string[] {
  if (before.onTheWay.length > 0) return before.onTheWay;
  if (after.onTheWay.length > 0) return after.onTheWay;
  return before.standing === after.standing ? [] : [MOVED];
}

function restOf(problems: string[]): Finding {
  const promise = 'outboxes, holds, usage jobs and changes for Redis are empty';
  return { name: REST, promise, compared: 1, problems };
}

function notJudged({ name, promise }: Finding): Finding {
  const reason = 'because the installation did not rest';
  return { name, promise, compared: 0, problems: [], notJudged: reason };
}
