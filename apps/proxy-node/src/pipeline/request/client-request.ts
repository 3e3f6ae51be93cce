import type { IncomingMessage } from 'node:http';
import type { ClientProtocol, ErrorShape, PathCall } from '@tollgate/protocols';
import type { ClientReply } from '../../http/client-reply.ts';
import type { ObservedRequest } from '../../observe/observed-request.ts';
import { traceIds } from '../../observe/observer.ts';

/** Describes a request as it arrived, before anything of it is read. */
export interface ClientRequest {
  readonly rid: string;
  /** Is the id that the caller gave the request; null without one. */
  readonly callerId: string | null;
  readonly protocol: ClientProtocol;
  readonly isCompaction: boolean;
  /** Is the part of a request that its path says; absent where the body says all. */
  readonly call?: PathCall;
  readonly shape: ErrorShape;
  readonly incoming: IncomingMessage;
  readonly reply: ClientReply;
  readonly addressHex: string;
  /** Follows it for trace and access log; null while both are off. */
  readonly observed: ObservedRequest | null;
  /** Is the time at which the request arrived, in Unix ms. */
  readonly receivedAtMs: number;
  /** Is the same moment by `monotonicMs`, for durations. */
  readonly receivedMonotonicMs: number;
}

export function requestIds({ rid, callerId, observed, incoming }: ClientRequest) {
  return { rid, caller_id: callerId, ...traceIds(observed, incoming.headers) };
}
