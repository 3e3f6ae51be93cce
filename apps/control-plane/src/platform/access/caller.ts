import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { Refusal } from '../http/refusal.ts';
import type { Visitor } from '../http/visitor.ts';

export const ROLES = ['admin', 'user'] as const;
export type Role = (typeof ROLES)[number];

/**
 * `read` sees everything that its owner may see. `write` also changes what belongs to its owner. `admin` may do everything that its owner, an
 * administrator, may do.
 */
export const TOKEN_SCOPES = ['read', 'write', 'admin'] as const;
export type TokenScope = (typeof TOKEN_SCOPES)[number];

/** Identifies the credential that authenticated a request. */
export type Credential =
  | { kind: 'session'; sid: string; version: number; isPasswordFresh: boolean }
  | { kind: 'access_token'; id: number; scope: TokenScope };

/** Describes an authenticated account, as the database has it at this request. */
export interface Identity {
  userId: number;
  username: string;
  role: Role;
  credential: Credential;
  /** Is true after a sign-in with a one-time password: the account can only set a new password. */
  mustChangePassword: boolean;
}

/** Describes the account behind a request. Its `role` is the role with which this request may act, which a token may narrow. */
export interface Caller extends Visitor, Identity {
  /** Is the entity tag that a record must have for a PUT to change it (If-Match). */
  ifMatch?: string | undefined;
}

/** Returns the id of the caller's session. Throws session_needed for an access token. */
export function sessionIdOf({ credential }: Caller): string {
  if (credential.kind !== 'session') throw new Refusal('session_needed');
  return credential.sid;
}

const callers = new WeakMap<Request, Caller>();

export function setCaller(request: Request, caller: Caller): void {
  callers.set(request, caller);
}

export function findCaller(request: Request): Caller | undefined {
  return callers.get(request);
}

/** Every route that is not public takes `@FromCaller() caller: Caller`. */
export const FromCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const caller = callers.get(context.switchToHttp().getRequest<Request>());
  if (!caller) throw new Error('a public route has no caller');
  return caller;
});
