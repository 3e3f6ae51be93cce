import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { CONFIG, type Config } from '../../config.ts';
import { Refusal } from '../http/refusal.ts';
import { visitorOf } from '../http/visitor.ts';
import { AccessTokens, isAccessToken } from './access-tokens.ts';
import { setCaller, type Identity, type Role } from './caller.ts';
import { isUnder, needFreshPassword } from './fresh-password.ts';
import {
  FRESH_PASSWORD,
  ONE_TIME_PASSWORD,
  PERMISSION,
  SESSION_ONLY,
  type FreshPasswordRule,
  type PermissionLevel,
} from './permission.ts';
import { refuseForeignOrigin, sessionCookie } from './session-cookie.ts';
import { Sessions } from './sessions.ts';

const READING_METHODS = new Set(['GET', 'HEAD']);

/** Checks the permission of every route of the administration interface before the route runs. A route that declares no permission is refused. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly sessions: Sessions,
    private readonly tokens: AccessTokens,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const places = [context.getHandler(), context.getClass()];
    const level = this.reflector.getAllAndOverride<PermissionLevel | undefined>(PERMISSION, places);
    if (level === 'public') return true;
    const request = context.switchToHttp().getRequest<Request>();
    const identity = await this.identify(request);
    const isOpenToUsers = level === 'user' && this.config.ADMIN_API_ACCESS === 'self-service';
    if (identity.role !== 'admin' && !isOpenToUsers) throw new Refusal('forbidden');
    const isSessionOnly = this.reflector.getAllAndOverride<boolean | undefined>(
      SESSION_ONLY,
      places,
    );
    if (isSessionOnly && identity.credential.kind === 'access_token')
      throw new Refusal('session_needed');
    if (identity.mustChangePassword && !this.reflector.getAllAndOverride(ONE_TIME_PASSWORD, places))
      throw new Refusal('password_change_needed');
    const rule = this.reflector.getAllAndOverride<FreshPasswordRule | undefined>(
      FRESH_PASSWORD,
      places,
    );
    if (isUnder(rule, request.body)) needFreshPassword(identity);
    const role = roleWithin(identity, { level, isReading: READING_METHODS.has(request.method) });
    const ifMatch = request.method === 'PUT' ? request.header('if-match') : undefined;
    setCaller(request, { ...visitorOf(request), ...identity, role, ifMatch });
    return true;
  }

  private identify(request: Request): Promise<Identity> {
    const token = this.tokenOf(request);
    return isAccessToken(token)
      ? this.tokens.open(token, visitorOf(request).address)
      : this.sessions.open(token);
  }

  /** Reads the Bearer token, or the console's cookie. Only the console's own pages may change things with the cookie. */
  private tokenOf(request: Request): string {
    const authorization = request.headers.authorization;
    if (authorization !== undefined) {
      const match = /^Bearer +([\w.~+/=-]+)$/i.exec(authorization);
      if (!match?.[1]) throw new Refusal('unauthenticated');
      return match[1];
    }
    const token = sessionCookie(request);
    if (token === undefined) throw new Refusal('unauthenticated');
    refuseForeignOrigin(request, this.config.CONSOLE_ORIGINS);
    return token;
  }
}

/** Returns the role with which this request may act. With a `write` token, an administrator changes only what belongs to them. */
function roleWithin(
  { credential, role }: Identity,
  { level, isReading }: { level: PermissionLevel | undefined; isReading: boolean },
): Role {
  if (credential.kind === 'session' || credential.scope === 'admin' || isReading) return role;
  if (credential.scope === 'read')
    throw new Refusal('token_scope', { detail: 'This access token may only read' });
  if (level !== 'user')
    throw new Refusal('token_scope', { detail: 'This needs an access token of the scope admin' });
  return 'user';
}
