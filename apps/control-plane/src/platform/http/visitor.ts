import { randomBytes } from 'node:crypto';
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
export function uuidv7(nowMs: number): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}

/** IPv4 arrives as ::ffff:a.b.c.d on a dual-stack socket; one client must not count as two. */
function normaliseAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
