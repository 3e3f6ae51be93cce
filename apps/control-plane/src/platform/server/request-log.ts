import { readTraceparent, type TraceContext } from '@tollgate/contracts';
import { preciseNow, Trace, type Tracing } from '@tollgate/tracing';
import type { NextFunction, Request, Response } from 'express';
import type { Logger as Pino } from 'pino';
import type { Metrics, ServedRequest } from '../metrics/metrics.ts';
import { findCaller } from '../access/caller.ts';
import { visitorOf } from '../http/visitor.ts';

export interface Watching {
  readonly pino: Pino;
  readonly metrics: Metrics;
  readonly tracing: Tracing | null;
  /** Is the log level of request lines. */
  readonly level: 'info' | 'debug';
}

/** Logs one line per request when it ends. The path is logged without its query, because queries hold what people searched for. */
export function requestLog({ pino, metrics, tracing, level }: Watching) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const startedAt = performance.now();
    response.on('close', () => {
      const visitor = visitorOf(request);
      const path = request.originalUrl.split('?', 1)[0];
      const isForMachines = isQuiet(path);
      const caller = readTraceparent(request.headers['traceparent']);
      const served = servedOf(request, response, performance.now() - startedAt);
      const trace = tracing && !isForMachines ? record(tracing, served, caller) : null;
      metrics.served({ ...served, trace });
      const fields = {
        request_id: visitor.requestId,
        trace_id: (trace ?? caller)?.traceId,
        span_id: (trace ?? caller)?.spanId,
        address: visitor.address,
        user_id: findCaller(request)?.userId,
        method: request.method,
        path,
        status: response.statusCode,
        duration_ms: Math.round(served.durationMs),
        aborted: !response.writableFinished,
      };
      pino[isForMachines ? 'debug' : level](fields, 'request');
    });
    next();
  };
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** Is the label for files of the console and unknown paths, because a caller must not create labels. */
const NO_ROUTE = '_none';

type Served = Omit<ServedRequest, 'trace'>;

function servedOf(request: Request, response: Response, durationMs: number): Served {
  return {
    requestId: visitorOf(request).requestId,
    method: METHODS.has(request.method) ? request.method : '_OTHER',
    route: routeOf(request),
    status: response.statusCode,
    durationMs,
  };
}

/** Writes the log line with its trace and span, where the trace is kept. */
function record(
  tracing: Tracing,
  { requestId, method, route, status, durationMs }: Served,
  caller: TraceContext | null,
): TraceContext | null {
  const trace = new Trace(tracing, caller);
  const isFailure = status >= 500;
  if (isFailure) trace.keep();
  if (!trace.isKept) return null;
  const startMs = preciseNow() - durationMs;
  const span = trace.open({ name: `${method} ${route}`, kind: 'server', startMs });
  span.set({
    'http.request.method': method,
    'http.route': route,
    'http.response.status_code': status,
    'tollgate.request.id': requestId,
  });
  span.end(isFailure ? String(status) : null);
  trace.handOver();
  return span.context;
}

function routeOf(request: Request): string {
  const route: unknown = request.route;
  const path = route instanceof Object && 'path' in route ? route.path : undefined;
  return typeof path === 'string' && path.startsWith('/') ? path : NO_ROUTE;
}

function isQuiet(path: string | undefined): boolean {
  return path === '/healthz' || path === '/readyz' || path === '/metrics';
}
