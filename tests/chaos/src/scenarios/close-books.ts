import { auditBooks, compareUsage, demoRecordSchema, readUsage, type ClientRecord, type Finding, type UsageRow } from '@tollgate/audit';
import type { Tollgate } from '@tollgate/harness';
import { waitForJournals } from '../wait-for-journals.ts';

/** A hold nobody renews is reaped after 60 s; its correction and a job's retry come after that. */
const DRAIN_MS = 150_000;

export interface ClosedBooks {
  findings: Finding[];
  /** From the call until nothing was on its way. */
  drainedInMs: number;
}

/**
 * Waits for what is on its way and has clients, upstream, PostgreSQL and Redis compared. `wereCut`: answers may have broken off.
 * `reportedLost`: usage the books have lost and said so, by request id.
 */
export async function closeBooks(tollgate: Tollgate, clients: readonly ClientRecord[], { wereCut, reportedLost = new Map() }: { wereCut: boolean; reportedLost?: ReadonlyMap<string, UsageRow> }): Promise<ClosedBooks> {
  const startedAt = Date.now();
  await waitForJournals(tollgate, startedAt + DRAIN_MS);
  const books = await auditBooks(tollgate, { drainMs: DRAIN_MS });
  const drainedInMs = Date.now() - startedAt;
  const provider = demoRecordSchema.parse(await (await fetch(`${tollgate.upstreamUrl}/record`)).json());
  const usage = new Map([...reportedLost, ...(await readUsage(tollgate.databaseUrl))]);
  return { findings: [...compareUsage({ clients, provider, usage, wereKilled: wereCut }), ...books], drainedInMs };
}
