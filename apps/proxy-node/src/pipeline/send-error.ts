import {
  CLIENT_ERRORS,
  clientError,
  InvalidRequest,
  upstreamClientError,
  type ClientError,
  type ClientErrorResponse,
  type ErrorShape,
} from '@tollgate/protocols';
import { REFUSALS, Refusal, retryHeaders, type RefusalRow } from '../refusals.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import type { ClientReply } from '../http/client-reply.ts';

/**
 * Answers a request that failed before its first byte, in its own protocol's shape. Returns what was sent, for log and metrics: `code` as a chat
 * client reads it, but of an upstream's error the gateway's own kind, so that there are only so many.
 */
export function sendError(
  reply: ClientReply,
  error: unknown,
  { rid, shape }: { rid: string; shape: ErrorShape },
): { status: number; code: string; message: string } {
  const { described, headers } = describe(error, { rid, shape });
  const response = clientError(shape, described);
  reply.addHeaders({ ...response.headers, ...headers });
  reply.send(response.status, response.body);
  const ownCode = error instanceof UpstreamFailure ? null : described.vendorCode;
  return {
    status: response.status,
    code: ownCode ?? CLIENT_ERRORS[described.code].openai.code ?? described.code,
    message: described.message,
  };
}

/** Returns the answer to a refused request, in its own protocol's shape. */
export function refusedAnswer(
  refusal: Refusal,
  { rid, shape }: { rid: string; shape: ErrorShape },
): ClientErrorResponse {
  return clientError(shape, describe(refusal, { rid, shape }).described);
}

/** Returns true for an error that the gateway expects: everything else is a bug and is logged as one. */
export function isExpected(error: unknown): boolean {
  return (
    error instanceof Refusal || error instanceof InvalidRequest || error instanceof UpstreamFailure
  );
}

function describe(
  error: unknown,
  { rid: requestId, shape }: { rid: string; shape: ErrorShape },
): { described: ClientError; headers: Readonly<Record<string, string>> } {
  if (error instanceof InvalidRequest) {
    return {
      described: {
        code: 'invalid_request',
        message: error.message,
        param: error.param,
        vendorCode: error.code,
        details: error.details,
        requestId,
      },
      headers: {},
    };
  }
  if (error instanceof UpstreamFailure) {
    const { retryAfterMs, kind } = error.error;
    const isWaiting = retryAfterMs !== null || kind === 'overloaded' || kind === 'rate_limited';
    return {
      described: upstreamClientError(error.error, requestId),
      headers: isWaiting ? retryHeaders(retryAfterMs ?? UPSTREAM_RETRY_MS) : {},
    };
  }
  const refusal = error instanceof Refusal ? error : new Refusal('internal_error');
  const row: RefusalRow = REFUSALS[refusal.code];
  return {
    described: {
      code: row.error,
      message: refusal.publicText(shape),
      param: refusal.param,
      vendorCode: row.vendorCode ?? null,
      details: row.details ?? null,
      requestId,
    },
    headers: refusal.headers,
  };
}

/** Is the pause when the upstream does not say how long. */
const UPSTREAM_RETRY_MS = 1_000;
