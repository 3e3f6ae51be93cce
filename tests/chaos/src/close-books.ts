import {
  auditBooks,
  compareUsage,
  readDemoRecord,
  readUsage,
  type ClientRecord,
  type Finding,
  type UsageRow,
} from '@tollgate/audit';
import type { Tollgate } from '@tollgate/harness';
import { tally, type Tally } from './tally.ts';
import { waitForJournals } from './wait-for-journals.ts';

/** A hold that is not renewed is reaped after 60 s; its correction and a job's retry come after that. */
const DRAIN_MS = 150_000;

/** Holds what happened meanwhile that answers may have broken off by; undisturbed unless given. */
export interface Disturbance {
  /** Processes of ours or the upstream were killed. */
  wereKilled?: boolean;
  /** Streams were ended, though nothing died. */
  wereCut?: boolean;
  /** Usage the books have lost and said so, by request id. */
  reportedLost?: ReadonlyMap<string, UsageRow>;
}

export interface ClosedBooks {
  findings: Finding[];
  sums: Tally;
  /** From the call until nothing was on its way. */
  drainedInMs: number;
}

/** Waits for what is on its way and has clients, upstream, PostgreSQL and Redis compared, one request at a time and in their sums. */
export async function closeBooks(
  tollgate: Tollgate,
  clients: readonly ClientRecord[],
  { wereKilled = false, wereCut = false, reportedLost = new Map() }: Disturbance = {},
): Promise<ClosedBooks> {
  const startedAt = Date.now();
  await waitForJournals(tollgate, startedAt + DRAIN_MS);
  const books = await auditBooks(tollgate, { drainMs: DRAIN_MS });
  const drainedInMs = Date.now() - startedAt;
  const provider = await readDemoRecord(tollgate.upstreamUrl);
  const usage = new Map([...reportedLost, ...(await readUsage(tollgate.databaseUrl))]);
  const sums = tally({ clients, provider, usage });
  return {
    findings: [
      ...compareUsage({ clients, provider, usage, wereKilled, wereCut }),
      sumsFinding(sums),
      ...books,
    ],
    sums,
    drainedInMs,
  };
}

function sumsFinding({ compared, underTokens, overTokens, reportedTokens }: Tally): Finding {
  const problems = [
    ...(underTokens > 0 ? [`${underTokens} of ${reportedTokens} tokens were not charged`] : []),
    ...(overTokens > 0 ? [`${overTokens} tokens too many were charged`] : []),
  ];
  return {
    name: 'sums',
    promise: 'not a token of a completed request too few or too many',
    compared,
    problems,
  };
}
