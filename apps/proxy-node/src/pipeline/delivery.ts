import type { IncomingHttpHeaders } from 'node:http';
import { takesPrefill, type Delivered } from '@tollgate/protocols';
import { stopsBillingOnClose, type SnapshotModel } from '@tollgate/snapshot';
import type { ObservedRequest } from '../observe/observed-request.ts';
import type { Candidate } from '../snapshot/routing-index.ts';
import { monotonicMs } from '../monotonic-ms.ts';
import { isCredentials, mayBeBilled, UpstreamFailure } from '../upstream/upstream-failure.ts';
import type { UpstreamHealth } from '../upstream/upstream-health.ts';
import type { Admitted } from './admission/admission.ts';
import type { AnswerMeter } from './answers/answer-meter.ts';
import type { Outbound, RouteAttempt } from './sending/attempt.ts';
import type { Asked } from './request/parse.ts';
import type { Choice } from './sending/route.ts';
import { sessionOf } from './sending/session-affinity.ts';

/** Carries one admitted request on its way to an answer. */
export interface Delivery {
  readonly rid: string;
  readonly clientHeaders: IncomingHttpHeaders;
  readonly observed: ObservedRequest | null;
  readonly asked: Asked;
  readonly admitted: Admitted;
  /** Is filled as upstreams are tried. */
  readonly attempts: RouteAttempt[];
  readonly passing: AnswerMeter;
  /** Is null where no other upstream may continue its answer. */
  readonly delivered: Delivered | null;
  /** The client left, the node stops, or access was withdrawn: no further upstream is asked. */
  readonly isOver: boolean;
  /** Is called before anything of its answer is passed on. */
  onAnswer(candidate: Candidate): void;
}

export class Tries {
  readonly session: string | null;
  /** Holds the routes that were asked, or have no words for the request: one, as a rule. */
  readonly tried: number[] = [];
  /** Holds candidates whose credential was refused; their routes may be tried with another. */
  readonly refused: Candidate[] = [];
  /** Counts the routes that were asked. A repetition on the same route is the only one of its kind and needs no place among them. */
  asked = 0;
  /** Is the attempt whose answer was read last; of two that raced, it is the winner. */
  read: RouteAttempt | null = null;
  /** Counts tokens: the prompt did not fit into so large a window, so that only a larger one is of use. */
  windowMin = -1;
  last: { failure: UpstreamFailure; candidate: Candidate; durationMs: number } | null = null;
  #repeated: Set<number> | null = null;
  #adapted: Set<string> | null = null;
  #prefills: Map<number, 'asked' | 'refused'> | null = null;

  constructor(delivery: Delivery) {
    this.session = sessionFor(delivery);
  }

  get repeated(): Set<number> {
    return (this.#repeated ??= new Set());
  }

  /** Holds the fields that a model refused, each of which is worth one repetition without it. */
  get adapted(): Set<string> {
    return (this.#adapted ??= new Set());
  }

  /** Maps each route to whether it was asked to continue an answer from a prefill, or has refused that. */
  get prefills(): Map<number, 'asked' | 'refused'> {
    return (this.#prefills ??= new Map());
  }
}

/** A connection that was refused within this may be accepted a moment later; one that takes longer has cost the caller enough. */
const REFUSED_AT_ONCE_MS = 1_000;

export function noteFailure(
  delivery: Delivery,
  tries: Tries,
  last: NonNullable<Tries['last']>,
): void {
  const { failure, candidate } = last;
  const attempt = delivery.attempts.at(-1);
  // A request that the gateway itself gave up ended by its own doing: its customer pays it.
  if (attempt && mayBeBilled(failure) && failure.evidence !== 'given_up')
    attempt.cost = delivery.passing.costSoFar();
  if (failure.error.kind === 'context_overflow')
    tries.windowMin = Math.max(tries.windowMin, windowOf(candidate, delivery.asked.model));
  if (candidate.upstream.credentialId !== undefined && isCredentials(failure.error)) {
    tries.refused.push(candidate);
    forget(tries.tried, candidate.route.id);
  }
  tries.last = last;
}

/** Returns 0 where the window is not known. */
export function windowOf(
  { route: { context_window: own } }: Candidate,
  model: SnapshotModel,
): number {
  return own ?? model.context_window ?? 0;
}

/**
 * Returns true if the same route is asked again when no other is left. By default only if nothing was sent: an upstream's statement goes to
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

/** Is the body that is sent in place of the request, for the rest of a cut answer. */
export type Rest = Pick<Outbound, 'ask' | 'outputLimit'>;

export function outboundOf(delivery: Delivery, rest: Rest | null): Outbound {
  const { rid, asked, admitted, clientHeaders, observed } = delivery;
  const { model, dropped, stored } = asked;
  const { accountId } = admitted;
  const { ask } = rest ?? asked;
  const { outputLimit } = rest ?? admitted;
  return {
    rid,
    accountId,
    modelId: model.id,
    cachesPrompts: model.caches_prompts ?? false,
    ask,
    openStored: stored.open,
    outputLimit,
    bounds: admitted.plan.bounds,
    dropped,
    clientHeaders,
    observed,
  };
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
export function noteCut({ read }: Tries): void {
  if (read) read.error = 'cut';
}

/** The customer pays what an attempt adds to an answer, and the installation the rest of its bill. Returns true where the customer pays all of it. */
export function noteContinued({ attempts, passing }: Delivery): boolean {
  const attempt = attempts.at(-1);
  const cost = passing.costOfContinued();
  if (attempt && cost) attempt.cost = cost;
  return cost === null;
}

export function continuesPrefill({ prefills }: Tries, { route, upstream }: Candidate): boolean {
  return prefills.get(route.id) !== 'refused' && takesPrefill(upstream, route);
}

/** A route that was only slower than the one that broke off may continue its answer. */
export function readmitLosers({ attempts }: Delivery, { tried }: Tries): void {
  for (const { error, route_id: id } of attempts) if (error === 'hedge_lost') forget(tried, id);
}

/** A model that the names do not tell may refuse a prefill: its route is asked again, with an instruction. */
export function noteRefusedPrefill(
  { prefills, tried }: Tries,
  { failure, candidate: { route } }: Pick<NonNullable<Tries['last']>, 'failure' | 'candidate'>,
): void {
  if (failure.error.kind !== 'invalid_request' || prefills.get(route.id) !== 'asked') return;
  prefills.set(route.id, 'refused');
  forget(tried, route.id);
}

export function forget(tried: number[], routeId: number): void {
  const at = tried.indexOf(routeId);
  if (at >= 0) tried.splice(at, 1);
}

/** Returns the failure with the time after which the first of the request's routes may be tried again: the last one may have named a longer one. */
export function withSoonestWait(
  failure: UpstreamFailure,
  { delivery, tries, health }: { delivery: Delivery; tries: Tries; health: UpstreamHealth },
): UpstreamFailure {
  const { kind, retryAfterMs } = failure.error;
  if (retryAfterMs === null || (kind !== 'rate_limited' && kind !== 'overloaded')) return failure;
  const { asked, admitted, attempts } = delivery;
  const { accountId } = admitted;
  const isOfUse = (candidate: Candidate): boolean =>
    windowOf(candidate, asked.model) > tries.windowMin &&
    (!tries.tried.includes(candidate.route.id) ||
      attempts.some(({ route_id: id }) => id === candidate.route.id));
  const now = monotonicMs();
  const waits = asked.candidates
    .flat()
    .filter(isOfUse)
    .map(({ route: { id: routeId }, upstream: { id: upstreamId, credentialId } }) =>
      health.waitMs({ routeId, upstreamId, credentialId, accountId }, now),
    );
  const soonestMs = Math.min(retryAfterMs, ...waits);
  return soonestMs === retryAfterMs
    ? failure
    : new UpstreamFailure({ ...failure.error, retryAfterMs: soonestMs || null }, failure);
}

/** Bounds the bill of the slower of two attempts: its prompt, and all of its output, each choice, where its provider generates on after it was closed. */
export function costOfLoser(
  { passing, admitted, asked }: Delivery,
  candidates: readonly Candidate[],
): number {
  const { input_tokens: prompt } = passing.costSoFar();
  const isClosed = candidates.every(({ upstream }) => stopsBillingOnClose(upstream));
  return prompt + (isClosed ? 0 : (admitted.outputLimit ?? 0) * asked.ask.choices);
}
