import { randomUUID } from 'node:crypto';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request, Response, NextFunction } from 'express';

/** Describes the sender of a request before the account is known. */
export interface Visitor {
  /** The server makes the id. An id from outside is never accepted, because a caller could write into our logs with it. */
  requestId: string;
  /** Is the address of the peer, or the one that a trusted proxy states. */
  address: string;
  /** Is the client's user agent, cut to a limit, for lists of sessions. */
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

/** Sets the request id in the answer before anything can refuse the request. */
export function identifyRequest(request: Request, response: Response, next: NextFunction): void {
  response.setHeader('x-request-id', visitorOf(request).requestId);
  next();
}

/** Public routes take `@FromVisitor() visitor: Visitor`; others take `@FromCaller()`. */
export const FromVisitor = createParamDecorator((_: unknown, context: ExecutionContext) =>
  visitorOf(context.switchToHttp().getRequest<Request>()),
);

/** Makes a UUID of version 7 (RFC 9562), which sorts by time. */
export function uuidv7(nowMs: number, random: string = randomUUID()): string {
  const time = nowMs.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`;
}

/** A dual-stack socket shows IPv4 as ::ffff:a.b.c.d, and one client must not count as two. */
function normaliseAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
