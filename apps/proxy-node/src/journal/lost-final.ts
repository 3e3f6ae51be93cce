import type { UsageFinal } from '@tollgate/contracts';
import { finalOfHold } from './final-of-hold.ts';
import { toUsage } from './journal-line.ts';
import type { LostHold } from './journal-replay.ts';

const STATUS_OK = 200;
const STATUS_UNANSWERED = 500;

/**
 * Returns the final of a request whose node died: it is charged for what the journal had counted, which is at most 100 ms of the stream less than was
 * delivered.
 */
export function lostFinal({ hold, counts, lastSeenAtMs }: LostHold, node: string): UsageFinal {
  const wasAnswered = Object.values(counts).some((tokens) => tokens > 0);
  return finalOfHold(hold, {
    node,
    upstream_id: null,
    attempts: [],
    outcome: 'node_lost',
    status: wasAnswered ? STATUS_OK : STATUS_UNANSWERED,
    basis: 'estimated',
    usage: toUsage(counts),
    endedAtMs: lastSeenAtMs,
  });
}
