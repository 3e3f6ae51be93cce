import { readTraceparent, type UsageFinal } from '@tollgate/contracts';
import { preciseNow, recordBelow, type Tracing } from '@tollgate/tracing';

/** From the journal until Redis has taken the final, in the trace of its request. */
export function recordSettlement(
  tracing: Tracing,
  { rid, final, atMs }: { rid: string; final: UsageFinal; atMs: number },
): void {
  const parent = readTraceparent(final.traceparent);
  if (!parent) return;
  recordBelow(tracing, parent, {
    name: 'settle',
    kind: 'client',
    startMs: atMs,
    endMs: preciseNow(),
    attributes: { 'db.system.name': 'redis', 'tollgate.request.id': rid },
    error: null,
  });
}
