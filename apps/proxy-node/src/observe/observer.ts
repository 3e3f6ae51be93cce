import type { IncomingHttpHeaders } from 'node:http';
import { readTraceparent } from '@tollgate/contracts';
import type { Tracing } from '@tollgate/tracing';
import type { Logger } from 'pino';
import { ObservedRequest } from './observed-request.ts';

/** Follows each request for trace and access log. */
export class Observer {
  readonly #parts: { tracing: Tracing | null; accessLog: Logger | null };

  constructor(parts: { tracing: Tracing | null; accessLog: Logger | null }) {
    this.#parts = parts;
  }

  /** Returns null while both are off, so that a request costs nothing more. */
  static of(tracing: Tracing | null, accessLog: Logger | null): Observer | null {
    return tracing || accessLog ? new Observer({ tracing, accessLog }) : null;
  }

  follow(request: {
    rid: string;
    callerId: string | null;
    headers: IncomingHttpHeaders;
  }): ObservedRequest {
    return new ObservedRequest(request, this.#parts);
  }
}

/** Returns the ids for a request's log lines: its own place in a trace, or its caller's while the node does not trace. */
export function traceIds(
  observed: ObservedRequest | null,
  headers: IncomingHttpHeaders,
): { trace_id?: string; span_id?: string } {
  const context = observed?.context ?? readTraceparent(headers['traceparent']);
  return context ? { trace_id: context.traceId, span_id: context.spanId } : {};
}
