import type { NextFunction, Request, Response } from 'express';
import type { Logger as Pino } from 'pino';
import { findCaller } from '../access/caller.ts';
import { visitorOf } from './visitor.ts';

/** One line a request when it ends. The path without its query: queries hold what people searched for. */
export function requestLog(pino: Pino) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const startedAt = performance.now();
    response.on('close', () => {
      const visitor = visitorOf(request);
      const fields = {
        request_id: visitor.requestId,
        address: visitor.address,
        user_id: findCaller(request)?.userId,
        method: request.method,
        path: request.originalUrl.split('?', 1)[0],
        status: response.statusCode,
        duration_ms: Math.round(performance.now() - startedAt),
        aborted: !response.writableFinished,
      };
      pino[isQuiet(fields.path) ? 'debug' : 'info'](fields, 'request');
    });
    next();
  };
}

function isQuiet(path: string | undefined): boolean {
  return path === '/healthz' || path === '/readyz';
}
