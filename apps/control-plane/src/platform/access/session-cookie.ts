import type { Request, Response } from 'express';
import { Refusal } from '../http/refusal.ts';
import { SESSION_SECONDS } from './session-token.ts';

const COOKIE = 'tollgate_session';
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

export function sessionCookie(request: Request): string | undefined {
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const [name, value] = part.trim().split('=', 2);
    if (name === COOKIE && value) return value;
  }
  return undefined;
}

/** The cookie is `Secure` only where the request came over TLS: the embedded installation uses plain HTTP on loopback. */
export function setSessionCookie(request: Request, response: Response, token: string): void {
  response.cookie(COOKIE, token, {
    httpOnly: true,
    sameSite: 'strict',
    secure: request.secure,
    path: '/',
    maxAge: SESSION_SECONDS * 1000,
  });
}

export function clearSessionCookie(request: Request, response: Response): void {
  response.clearCookie(COOKIE, {
    httpOnly: true,
    sameSite: 'strict',
    secure: request.secure,
    path: '/',
  });
}

/** SameSite excludes other sites. The Origin check also excludes sibling subdomains, which count as the same site. */
export function refuseForeignOrigin(request: Request, allowed: string[]): void {
  if (SAFE_METHODS.has(request.method)) return;
  const origin = request.headers.origin;
  const isOwn =
    origin !== undefined && URL.canParse(origin) && new URL(origin).host === request.host;
  if (!isOwn && !(origin !== undefined && allowed.includes(origin)))
    throw new Refusal('origin_not_allowed');
}
