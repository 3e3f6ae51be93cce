import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { Refusal } from '../http/refusal.ts';
import type { Visitor } from '../http/visitor.ts';

export const ROLES = ['admin', 'user'] as const;
export type Role = (typeof ROLES)[number];

/** read: looks at all its owner may see. write: also changes what belongs to its owner. admin: all that its owner, an administrator, may. */
export const TOKEN_SCOPES = ['read', 'write', 'admin'] as const;
export type TokenScope = (typeof TOKEN_SCOPES)[number];

/** The credential that authenticated a request. */
export type Credential =
  | { kind: 'session'; sid: string; version: number; isPasswordFresh: boolean }
  | { kind: 'access_token'; id: number; scope: TokenScope };

/** An account that proved who it is, read from the database for this request. */
export interface Identity {
  userId: number;
  username: string;
  role: Role;
  credential: Credential;
  /** Signed in with a one-time password: nothing but another password is open. */
  mustChangePassword: boolean;
}

/** The signed-in account behind a request. Its `role` is what this request may act as: a token may narrow it. */
export interface Caller extends Visitor, Identity {
  /** The tag that a record must have for a PUT to change it. */
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

/** `@FromCaller() caller: Caller` on every route that is not public. */
export const FromCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const caller = callers.get(context.switchToHttp().getRequest<Request>());
  if (!caller) throw new Error('a public route has no caller');
  return caller;
});
