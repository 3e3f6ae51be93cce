import { randomUUID } from 'node:crypto';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request, Response, NextFunction } from 'express';

/** The sender of a request, before the account is known. */
export interface Visitor {
  /** Made here; one from outside is never accepted, it would let a caller write into our logs. */
  requestId: string;
  /** The peer's address, or the one a trusted proxy vouches for. */
  address: string;
  /** The client's own name, cut; for lists of sessions. */
  userAgent: string;
}

const USER_AGENT_CHARS_MAX = 256;

const visitors = new WeakMap<Request, Visitor>();

export function visitorOf(request: Request): Visitor {
  const known = visitors.get(request);
  if (known) return known;
  const visitor = {
    requestId: uuidv7(Date.now()),
    address: normaliseAddress(request.ip ?? ''),
    userAgent: (request.headers['user-agent'] ?? '').slice(0, USER_AGENT_CHARS_MAX),
  };
  visitors.set(request, visitor);
  return visitor;
}

/** Names the request in its answer, before anything can refuse it. */
export function identifyRequest(request: Request, response: Response, next: NextFunction): void {
  response.setHeader('x-request-id', visitorOf(request).requestId);
  next();
}

/** `@FromVisitor() visitor: Visitor` for public routes; others take `@Caller()`. */
export const FromVisitor = createParamDecorator((_: unknown, context: ExecutionContext) =>
  visitorOf(context.switchToHttp().getRequest<Request>()),
);

/** RFC 9562 version 7: sortable by time. */
export function uuidv7(nowMs: number, random: string = randomUUID()): string {
  const time = nowMs.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`;
}

/** IPv4 arrives as ::ffff:a.b.c.d on a dual-stack socket; one client must not count as two. */
function normaliseAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
