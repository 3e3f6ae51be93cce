import type { NextFunction, Request, Response } from 'express';
import { Refusal } from '../http/refusal.ts';

const BODYLESS_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);
const JSON_TYPE = /^application\/json\s*(;|$)/i;

/**
 * A body of another kind would be ignored by the parser, and the route would act as if it had been empty: a form posted to a toggle would flip it.
 * JSON passes, and so does a request without a body.
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
