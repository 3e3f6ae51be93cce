import type { NextFunction, Request, Response } from 'express';
import { Refusal } from '../http/refusal.ts';

const BODYLESS_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);
const JSON_TYPE = /^application\/json\s*(;|$)/i;

/**
 * Refuses bodies of other types. The parser would ignore them, and the route would act as if the body had been empty: a form posted to a toggle would
 * flip it. JSON and requests without a body pass.
 */
export function refuseOtherBodies(request: Request, _response: Response, next: NextFunction): void {
  const { method, headers } = request;
  const hasBody =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  const isOther = hasBody && !JSON_TYPE.test(headers['content-type'] ?? '');
  next(
    isOther && !BODYLESS_METHODS.has(method) ? new Refusal('unsupported_media_type') : undefined,
  );
}
