import { upstreamError, type ClientProtocol, type UpstreamError } from '@tollgate/protocols';
import type { FailureSeen } from './route-state.ts';

/**
 * Names the evidence about a failed attempt.
 * `unsent`: no byte of the request left. `stale`: a connection kept from an earlier request was closed as the request went out, so that the
 * upstream had ended it before. `stated`: the upstream itself said that it failed. `contentless`: an answer began and ended or broke without
 * content. `given_up`: the gateway ended it. `unknown` is anything else.
 */
export type Evidence = 'unsent' | 'stale' | 'stated' | 'contentless' | 'given_up' | 'unknown';

/** Describes an attempt without a usable answer. `error` may be shown to the client; `cause` goes to the log. */
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

/** Returns a failure that the gateway itself found; `message` may be shown to the client. */
export function gatewayFailure(
  kind: UpstreamError['kind'],
  message: string,
  details: { evidence?: Evidence; cause?: unknown } = {},
): UpstreamFailure {
  return new UpstreamFailure(upstreamError(kind, { message }), details);
}

/** The answer is larger than the gateway reads. The request caused that: it is not repeated, and its customer pays for what arrived. */
export class AnswerTooLarge extends UpstreamFailure {
  constructor(bytesMax: number) {
    const message = `The answer is larger than ${bytesMax} bytes, the most that the gateway reads. Ask for less of it (top_logprobs, n, the output limit), or for a stream.`;
    super(upstreamError('answer_too_large', { message }), { evidence: 'given_up' });
  }
}

/** Says which attempts may be repeated. `safe` repeats what the provider cannot have billed; `always` repeats everything of which the client saw no content; `never` repeats only what was never sent. */
export type Replay = 'safe' | 'always' | 'never';

/**
 * May this request be sent again, while the client has nothing of an answer? Not repeated under any policy: what the gateway gave up itself, and
 * a refusal of the request (400, 413, 422), which every upstream would repeat; a prompt that is too long may fit into another window. What was
 * never sent is no replay, so `never` allows it.
 */
export function mayRepeat(failure: UpstreamFailure, replay: Replay): boolean {
  if (failure.evidence === 'given_up') return false;
  if (failure.error.kind !== 'context_overflow' && !isUpstreamsFault(failure.error)) return false;
  if (failure.evidence === 'unsent') return true;
  switch (replay) {
    case 'never':
      return false;
    case 'safe':
      return !mayBeBilled(failure);
    case 'always':
      return true;
  }
}

/** Returns true if the provider may bill the installation for this attempt. */
export function mayBeBilled({ error, evidence }: UpstreamFailure): boolean {
  switch (evidence) {
    case 'unsent':
    case 'stale':
      return false;
    case 'stated':
      return error.kind === 'unreadable' || isFromAnImpatientProxy(error);
    case 'contentless':
    case 'given_up':
    case 'unknown':
      return true;
  }
}

/**
 * With 504 and Cloudflare's 524 a proxy before the provider stopped waiting, while the model may have continued. A 408 says that the request never
 * arrived completely.
 */
function isFromAnImpatientProxy({ upstreamStatus }: UpstreamError): boolean {
  return upstreamStatus === 504 || upstreamStatus === 524;
}

/** Returns true if the failure concerns the route's health, rather than a connection or an act of the gateway itself. */
export function isRoutesTrouble({ error, evidence }: UpstreamFailure): boolean {
  if (evidence === 'given_up' || evidence === 'stale') return false;
  // The request causes an answer above the gateway's own limits; the upstream causes an unreadable one.
  return error.kind === 'unreadable' ? evidence !== 'unknown' : isUpstreamsFault(error);
}

/**
 * Returns the failure for the health of its route. A 403 may concern only the request, as where a provider moderates prompts, so one caller's prompt
 * takes the route from no other caller.
 */
export function seenOf(
  { error, evidence }: UpstreamFailure,
  { protocol, now }: { protocol: ClientProtocol; now: number },
): FailureSeen {
  const { kind, upstreamStatus, retryAfterMs } = error;
  const isCertain = kind === 'auth' && upstreamStatus !== 403;
  return { why: kind, isCertain, isUnreached: evidence === 'unsent', retryAfterMs, protocol, now };
}

/** Returns true if the failure lies with the upstream, or with its single answer, rather than with the request. */
function isUpstreamsFault({ kind }: UpstreamError): boolean {
  switch (kind) {
    case 'rate_limited':
    case 'overloaded':
    case 'server':
    case 'auth':
    case 'not_found':
    case 'timeout':
    case 'unreachable':
    case 'unreadable':
      return true;
    case 'invalid_request':
    case 'gone':
    case 'context_overflow':
    case 'too_large':
    case 'answer_too_large':
    case 'unsupported':
      return false;
  }
}

/** Another credential of the upstream may be taken where this one is refused. */
export function isCredentials({ kind }: { readonly kind: string }): boolean {
  return kind === 'auth' || kind === 'rate_limited';
}

/** Returns the fields with which the attempt is recorded. */
export function endingOf({ error, evidence }: UpstreamFailure): { error: string; status?: number } {
  return {
    error: evidence === 'given_up' || evidence === 'stale' ? evidence : error.kind,
    ...(error.upstreamStatus !== null && { status: error.upstreamStatus }),
  };
}
