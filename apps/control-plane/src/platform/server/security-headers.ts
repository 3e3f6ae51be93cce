import type { NextFunction, Request, Response } from 'express';

/** Sets the headers for answers of the administration interface. They are data and not pages, so nothing may frame, sniff, run or store them. */
export function securityHeaders(request: Request, response: Response, next: NextFunction): void {
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('x-frame-options', 'DENY');
  response.setHeader('referrer-policy', 'no-referrer');
  response.setHeader('content-security-policy', "default-src 'none'; frame-ancestors 'none'");
  response.setHeader('cross-origin-resource-policy', 'same-origin');
  response.setHeader('cache-control', 'no-store');
  if (request.secure) response.setHeader('strict-transport-security', 'max-age=31536000');
  next();
}
