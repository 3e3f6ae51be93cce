import type { IncomingHttpHeaders } from 'node:http';
import type { AttemptCost } from '@tollgate/contracts';
import type { SnapshotModel } from '@tollgate/snapshot';
import type { ObservedRequest } from '../observe/observed-request.ts';
import type { Candidate } from '../snapshot/routing-index.ts';
import { mayBeBilled, type UpstreamFailure } from '../upstream/upstream-failure.ts';
import type { Admitted } from './admission.ts';
import type { AnswerMeter } from './answer-meter.ts';
import type { Outbound, RouteAttempt } from './forward.ts';
import type { Asked } from './parse.ts';
import type { Choice } from './route.ts';
import { sessionOf } from './session-affinity.ts';

/** One admitted request on its way to an answer. */
export interface Delivery {
  readonly rid: string;
  readonly clientHeaders: IncomingHttpHeaders;
  readonly observed: ObservedRequest | null;
  readonly asked: Asked;
  readonly admitted: Admitted;
  /** Filled as upstreams are tried. */
  readonly attempts: RouteAttempt[];
  readonly passing: AnswerMeter;
  /** The client left, the node stops, or access was withdrawn: no further upstream is asked. */
  readonly isOver: () => boolean;
  /** Called before anything of its answer is passed on. */
  readonly onAnswer: (candidate: Candidate) => void;
}

/** What was tried so far. */
export interface Tries {
  readonly session: string | null;
  /** Routes that were asked, or have no words for the request. */
  readonly tried: Set<number>;
  readonly repeated: Set<number>;
  /** Fields that a model refused, each of which is worth one repetition without it. */
  readonly adapted: Set<string>;
  /** Routes that were asked. A repetition on the same one is one of a kind and needs no place among them. */
  asked: number;
  /** Tokens: the prompt did not fit into so large a window, so that only a larger one is of use. */
  windowMin: number;
  last: { failure: UpstreamFailure; candidate: Candidate; durationMs: number } | null;
}

export function openTries(delivery: Delivery): Tries {
  return {
    session: sessionFor(delivery),
    tried: new Set(),
    repeated: new Set(),
    adapted: new Set(),
    asked: 0,
    windowMin: -1,
    last: null,
  };
}

/** A connection that was refused within this may be accepted a moment later; one that takes longer has cost the caller enough. */
const REFUSED_AT_ONCE_MS = 1_000;

export function noteLost(attempt: RouteAttempt | undefined, cost: AttemptCost): void {
  if (!attempt) return;
  attempt.cost = cost;
  if (attempt.error === undefined || attempt.error === 'given_up') attempt.error = 'hedge_lost';
}

export function noteFailure(
  delivery: Delivery,
  tries: Tries,
  last: NonNullable<Tries['last']>,
): void {
  const { failure, candidate } = last;
  const attempt = delivery.attempts.at(-1);
  // What the gateway itself gave up is the request's own ending: its customer pays it.
  if (attempt && mayBeBilled(failure) && failure.evidence !== 'given_up')
    attempt.cost = delivery.passing.costSoFar();
  if (failure.error.kind === 'context_overflow')
    tries.windowMin = Math.max(tries.windowMin, windowOf(candidate, delivery.asked.model));
  tries.last = last;
}

/** 0 where it is not known. */
export function windowOf(
  { route: { context_window: own } }: Candidate,
  model: SnapshotModel,
): number {
  return own ?? model.context_window ?? 0;
}

/**
 * Whether the same route is asked again when no other is left. By default only where nothing was sent: what an upstream has stated goes to
 * the client, whose SDK waits before it repeats. A model with `replay: always` repeats an answer that broke, too.
 */
export function isWorthRepeating(
  { failure: { error, evidence }, durationMs }: NonNullable<Tries['last']>,
  replay: NonNullable<SnapshotModel['failover']>['replay'],
): boolean {
  if (evidence === 'unsent') return error.kind === 'unreachable' && durationMs < REFUSED_AT_ONCE_MS;
  const isBroken =
    evidence === 'unknown' || evidence === 'contentless' || error.kind === 'unreadable';
  return replay === 'always' && isBroken && error.kind !== 'timeout';
}

export function noteSkipped(
  attempts: RouteAttempt[],
  { skipped }: Extract<Choice, { kind: 'resting' }>,
): void {
  for (const { upstreamId, routeId, reason } of skipped)
    attempts.push({ upstream_id: upstreamId, route_id: routeId, error: reason, duration_ms: 0 });
}

export function outboundOf(delivery: Delivery): Outbound {
  const { rid, asked, admitted, clientHeaders, observed } = delivery;
  const { ask, model, dropped } = asked;
  const { accountId, outputLimit } = admitted;
  return { rid, accountId, modelId: model.id, ask, outputLimit, dropped, clientHeaders, observed };
}

/** With one route there is nothing to choose. */
function sessionFor({ asked, admitted, clientHeaders }: Delivery): string | null {
  if (!asked.candidates.some((group) => group.length > 1)) return null;
  const { ask, model } = asked;
  return sessionOf({
    accountId: admitted.accountId,
    modelId: model.id,
    headers: clientHeaders,
    ask,
  });
}

/** The customer pays what the cut attempt delivered. */
export function noteCut(attempt: RouteAttempt | undefined): void {
  if (attempt) attempt.error = 'cut';
}

/** The customer pays the output of an attempt that continues an answer, and the installation the prompt that it was sent. */
export function noteContinued({ attempts, passing }: Delivery): void {
  const attempt = attempts.at(-1);
  if (attempt) attempt.cost = { ...passing.costSoFar(), output_tokens: 0 };
}
