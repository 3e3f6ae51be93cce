import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { Visitor } from '../http/visitor.ts';

export const ROLES = ['admin', 'user'] as const;
export type Role = (typeof ROLES)[number];

/** The signed-in account behind a request, read from the database for this request. */
export interface Caller extends Visitor {
  userId: number;
  username: string;
  role: Role;
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
