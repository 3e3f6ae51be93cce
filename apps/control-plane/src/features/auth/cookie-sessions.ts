import { Inject, Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { CONFIG, type Config } from '../../config.ts';
import {
  clearSessionCookie,
  refuseForeignOrigin,
  sessionCookie,
  setSessionCookie,
} from '../../platform/access/session-cookie.ts';
import type { IssuedSession, SessionResponse } from './auth.dto.ts';

interface Delivery {
  session: IssuedSession;
  asCookie: boolean;
  request: Request;
  response: Response;
}

/** Delivers a session: in the answer for programs, and for the console in a cookie that scripts cannot read. */
@Injectable()
export class CookieSessions {
  constructor(@Inject(CONFIG) private readonly config: Config) {}

  deliver({ session, asCookie, request, response }: Delivery): SessionResponse {
    if (!asCookie) return session;
    // Without this check another site could sign a visitor in to an account of its own.
    refuseForeignOrigin(request, this.config.CONSOLE_ORIGINS);
    setSessionCookie(request, response, session.token);
    return { user: session.user, password_change_needed: session.password_change_needed };
  }

  isUsedBy(request: Request): boolean {
    return request.headers.authorization === undefined && sessionCookie(request) !== undefined;
  }

  clear(request: Request, response: Response): void {
    if (this.isUsedBy(request)) clearSessionCookie(request, response);
  }
}
