import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { CONFIG, type Config } from '../../config.ts';
import { Refusal } from '../http/refusal.ts';
import { visitorOf } from '../http/visitor.ts';
import { setCaller } from './caller.ts';
import { PERMISSION, type PermissionLevel } from './permission.ts';
import { refuseForeignOrigin, sessionCookie } from './session-cookie.ts';
import { Sessions } from './sessions.ts';

/** Runs before every route of the administration interface. Closed unless a route says otherwise. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly sessions: Sessions,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const level = this.reflector.getAllAndOverride<PermissionLevel | undefined>(PERMISSION, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (level === 'public') return true;
    const request = context.switchToHttp().getRequest<Request>();
    const account = await this.sessions.open(this.tokenOf(request));
    const isOpenToUsers = level === 'user' && this.config.ADMIN_API_ACCESS === 'self-service';
    if (account.role !== 'admin' && !isOpenToUsers) throw new Refusal('forbidden');
    setCaller(request, { ...visitorOf(request), ...account });
    return true;
  }

  /** A Bearer token, or the console's cookie, which only the console's own pages may use to change things. */
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
