import { upstreamError, type UpstreamError } from '@tollgate/protocols';

/**
 * What is known of a failed attempt. `unsent`: no connection was made, or it broke before the request was written. `stated`: the upstream itself
 * said that it failed. `contentless`: a stream began and ended or broke without a piece of content. `given_up`: the gateway ended it.
 * `unknown`: anything else.
 */
export type Evidence = 'unsent' | 'stated' | 'contentless' | 'given_up' | 'unknown';

/** One attempt that brought no usable answer. `error` is fit for the client; `cause` goes to the log. */
export class UpstreamFailure extends Error {
  readonly error: UpstreamError;
  readonly evidence: Evidence;

  constructor(
    error: UpstreamError,
    { evidence = 'unknown', cause }: { evidence?: Evidence; cause?: unknown } = {},
  ) {
    super(error.message, { cause });
    this.error = error;
    this.evidence = evidence;
  }
}

/** A failure the gateway itself found; `message` is fit for the client. */
export function gatewayFailure(
  kind: UpstreamError['kind'],
  message: string,
  details: { evidence?: Evidence; cause?: unknown } = {},
): UpstreamFailure {
  return new UpstreamFailure(upstreamError(kind, { message }), details);
}

/**
 * May this request go to another upstream, while the client has nothing of an answer? Only when the first upstream cannot have answered it, or
 * said that it did not: unsent, 429, 5xx, our own key refused, an error event or an ending before any content. Not repeated: a connection that
 * broke after the request was written and before an answer, a stall, a refusal of the request itself (400, 413), and anything not named here.
 */
export function isReplaySafe({ error, evidence }: UpstreamFailure): boolean {
  switch (evidence) {
    case 'unsent':
    case 'contentless':
      return error.kind !== 'timeout';
    case 'stated':
      return isUpstreamsOwnTrouble(error);
    case 'given_up':
    case 'unknown':
      return false;
  }
}

/** Whether the failure says something of the upstream's health, rather than of the request or of a single answer. */
export function isUpstreamsOwnTrouble({ kind }: UpstreamError): boolean {
  switch (kind) {
    case 'rate_limited':
    case 'overloaded':
    case 'server':
    case 'auth':
    case 'not_found':
    case 'timeout':
    case 'unreachable':
      return true;
    case 'invalid_request':
    case 'context_overflow':
    case 'too_large':
    case 'unreadable':
    case 'unsupported':
      return false;
  }
}
