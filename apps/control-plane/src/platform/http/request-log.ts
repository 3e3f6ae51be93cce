import type { NextFunction, Request, Response } from 'express';
import type { Logger as Pino } from 'pino';
import type { Metrics } from '../metrics/metrics.ts';
import { findCaller } from '../access/caller.ts';
import { visitorOf } from './visitor.ts';

/** One line a request when it ends. The path without its query: queries hold what people searched for. */
export function requestLog(pino: Pino, metrics: Metrics) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const startedAt = performance.now();
    response.on('close', () => {
      const visitor = visitorOf(request);
      const durationMs = performance.now() - startedAt;
      metrics.served({
        requestId: visitor.requestId,
        method: METHODS.has(request.method) ? request.method : '_OTHER',
        route: routeOf(request),
        status: response.statusCode,
        durationMs,
      });
      const fields = {
        request_id: visitor.requestId,
        address: visitor.address,
        user_id: findCaller(request)?.userId,
        method: request.method,
        path: request.originalUrl.split('?', 1)[0],
        status: response.statusCode,
        duration_ms: Math.round(durationMs),
        aborted: !response.writableFinished,
      };
      pino[isQuiet(fields.path) ? 'debug' : 'info'](fields, 'request');
    });
    next();
  };
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** For files of the console and all paths that are none: a caller must not make labels. */
const NO_ROUTE = '_none';

function routeOf(request: Request): string {
  const route: unknown = request.route;
  const path = route instanceof Object && 'path' in route ? route.path : undefined;
  return typeof path === 'string' && path.startsWith('/') ? path : NO_ROUTE;
}

function isQuiet(path: string | undefined): boolean {
  return path === '/healthz' || path === '/readyz' || path === '/metrics';
}
