import type { NextFunction, Request, Response } from 'express';
import type { RouteTable } from '../openapi/route-table.ts';
import { Refusal } from '../http/refusal.ts';

interface KnownMethods {
  /** Is the first path segment of all routes, except those whose first segment is in `outside`. */
  prefix: string;
  outside: ReadonlySet<string>;
  routes: RouteTable;
}

/**
 * Answers 405 with the allowed methods for a known path with another method (RFC 9110 15.5.6). It runs before the router, which would take `PUT
 * /models/market` for a change of the model `market`.
 */
export function refuseOtherMethods({ prefix, outside, routes }: KnownMethods) {
  const isPlain = (path: string): boolean => outside.has(path.split('/', 2)[1] ?? '');
  return ({ method, path }: Request, response: Response, next: NextFunction): void => {
    const isPrefixed = path.startsWith(`/${prefix}/`);
    const below = isPrefixed ? path.slice(prefix.length + 1) : path;
    const methods = isPrefixed !== isPlain(below) ? routes.methodsAt(below) : [];
    if (methods.length === 0 || methods.includes(method)) return next();
    const known = methods.join(', ');
    response.setHeader('allow', known);
    next(new Refusal('method_not_allowed', { detail: `This path supports ${known}` }));
  };
}
