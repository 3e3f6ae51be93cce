import { readTraceparent } from '@tollgate/contracts';
import { preciseNow, recordBelow, type Tracing } from '@tollgate/tracing';
import type { MeteringPort } from './metering-port.ts';

type Settling = Pick<MeteringPort, 'settle'>;

/** Matches the traceparent in a final's JSON text, which contains it once, after everything that a caller can name. */
const TRACEPARENT = /"traceparent":"([0-9a-f-]{55})"/;

/** Records each settlement of a traced request in its trace. Returns the same port while tracing is off. */
export function tracedMetering(metering: Settling, tracing: Tracing | null): Settling {
  if (!tracing) return metering;
  return {
    settle: async (request) => {
      const parent = readTraceparent(TRACEPARENT.exec(request.payload)?.[1]);
      if (!parent) return metering.settle(request);
      const startMs = preciseNow();
      const record = (error: string | null): void =>
        void recordBelow(tracing, parent, {
          name: 'settle',
          kind: 'client',
          startMs,
          endMs: preciseNow(),
          attributes: { 'db.system.name': 'redis', 'tollgate.request.id': request.rid },
          error,
        });
      try {
        const reply = await metering.settle(request);
        record(reply.kind === 'fenced' ? 'fenced' : null);
        return reply;
      } catch (error) {
        record('unanswered');
        throw error;
      }
    },
  };
}
