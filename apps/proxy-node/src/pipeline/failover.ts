import type { IncomingHttpHeaders } from 'node:http';
import type { AttemptCost } from '@tollgate/contracts';
import { InvalidRequest, type StreamSink } from '@tollgate/protocols';
import type { SnapshotModel } from '@tollgate/snapshot';
import { monotonicMs } from '../monotonic-ms.ts';
import type { Candidate } from '../snapshot/routing-index.ts';
import { mayBeBilled, mayRepeat, UpstreamFailure } from '../upstream/upstream-failure.ts';
import { Hedges } from '../upstream/hedges.ts';
import type { UpstreamHealth } from '../upstream/upstream-health.ts';
import type { Admitted } from './admission.ts';
import type { AnswerMeter, Metered } from './answer-meter.ts';
import { deadlinesFor } from './attempt-deadlines.ts';
import type { Forwarder, Outbound, RouteAttempt } from './forward.ts';
import { raceForContent, type Runner } from './hedged-race.ts';
import { AllRest } from './no-answer.ts';
import type { Asked } from './parse.ts';
import { route, type Choice } from './route.ts';
import { sessionOf, type SessionAffinity } from './session-affinity.ts';

/** One admitted request on its way to an answer. */
export interface Delivery {
  readonly rid: string;
  readonly clientHeaders: IncomingHttpHeaders;
  readonly asked: Asked;
  readonly admitted: Admitted;
  /** Filled as upstreams are tried. */
  readonly attempts: RouteAttempt[];
  readonly passing: AnswerMeter;
  /** The client left, the node stops, or access was withdrawn: no further upstream is asked. */
  readonly isOver: () => boolean;
}

/** What was tried so far. */
interface Tries {
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

interface Attempt extends Runner {
  readonly candidate: Candidate;
  /** To be called before its answer is read. */
  readonly win: () => void;
}

interface Next {
  readonly candidate: Candidate;
  /** On a connection of its own. */
  readonly isAnew: boolean;
}

/** A connection that was refused within this may be accepted a moment later; one that takes longer has cost the caller enough. */
const REFUSED_AT_ONCE_MS = 1_000;

/** One upstream after the other, while the client has seen nothing of an answer and the model's `replay` allows it. */
export class Failover {
  readonly #forwarder: Forwarder;
  readonly #health: UpstreamHealth;
  readonly #affinity: SessionAffinity;
  readonly #attemptsMax: number;
  readonly #hedges = new Hedges();

  constructor({
    forwarder,
    health,
    affinity,
    attemptsMax,
  }: {
    forwarder: Forwarder;
    health: UpstreamHealth;
    affinity: SessionAffinity;
    attemptsMax: number;
  }) {
    this.#forwarder = forwarder;
    this.#health = health;
    this.#affinity = affinity;
    this.#attemptsMax = attemptsMax;
  }

  /** Throws the last UpstreamFailure when no upstream answered. */
  async deliver(delivery: Delivery): Promise<Metered> {
    const tries: Tries = {
      session: sessionFor(delivery),
      tried: new Set(),
      repeated: new Set(),
      adapted: new Set(),
      asked: 0,
      windowMin: -1,
      last: null,
    };
    while (!delivery.isOver()) {
      const next = this.#next(delivery, tries);
      const startedAt = monotonicMs();
      try {
        return await this.#attempt(delivery, tries, next);
      } catch (error) {
        // This route's protocol has no words for the request; another's has, or it had been refused before it was admitted.
        if (error instanceof InvalidRequest) continue;
        if (!(error instanceof UpstreamFailure)) throw error;
        const durationMs = monotonicMs() - startedAt;
        noteFailure(delivery, tries, { failure: error, candidate: next.candidate, durationMs });
      }
    }
    throw tries.last?.failure ?? new AllRest(0);
  }

  async #attempt(delivery: Delivery, tries: Tries, next: Next): Promise<Metered> {
    const { passing, asked } = delivery;
    const first = this.#start(delivery, tries, next);
    first.win();
    passing.watch(first.flight);
    const { hedge } = asked.model.failover ?? {};
    const delayMs =
      hedge && asked.ask.isStream ? this.#hedges.delayMs(asked.model.id, monotonicMs()) : null;
    const won =
      delayMs === null
        ? { runner: first, answer: await first.flight.answer }
        : await raceForContent(first, { delayMs, second: () => this.#second(delivery, tries) });
    if (won.runner !== first) {
      won.runner.win();
      passing.watch(won.runner.flight);
    }
    this.#affinity.served(tries.session, won.runner.candidate.route.id, monotonicMs());
    const metered = await passing.read(won.answer);
    if (hedge && tries.asked === 1 && metered.firstTokenMs !== null)
      this.#hedges.observe(asked.model.id, metered.firstTokenMs);
    return metered;
  }

  /** The attempt that is made beside a slow one; null where none may be. */
  #second(delivery: Delivery, tries: Tries): Attempt | null {
    const { asked, passing } = delivery;
    const cap = asked.model.failover?.hedge;
    if (!cap || delivery.isOver() || tries.asked >= this.#attemptsMax) return null;
    const choice = this.#choose(delivery, tries);
    if (choice.kind !== 'candidate') return null;
    const { input_tokens: tokens } = passing.costSoFar();
    if (!this.#hedges.take(asked.model.id, { cap, tokens, now: monotonicMs() })) return null;
    try {
      return this.#start(delivery, tries, { candidate: choice.candidate, isAnew: false });
    } catch (error) {
      if (error instanceof InvalidRequest) return null;
      throw error;
    }
  }

  /** What the attempt generates counts from the moment it has won. */
  #start(delivery: Delivery, tries: Tries, { candidate, isAnew }: Next): Attempt {
    const { passing, attempts, asked } = delivery;
    tries.tried.add(candidate.route.id);
    const deadlines = deadlinesFor(candidate, {
      model: asked.model,
      isStream: asked.ask.isStream,
      hasOther: this.#choose(delivery, tries).kind === 'candidate',
    });
    let counting: StreamSink | null = null;
    const cost = passing.costSoFar();
    const place = attempts.length;
    const flight = this.#forwarder.forward(candidate, outboundOf(delivery), {
      sink: { output: (text) => counting?.output(text), call: () => counting?.call?.() },
      attempts,
      deadlines,
      isAnew,
    });
    if (!isAnew) tries.asked += 1;
    return {
      candidate,
      flight,
      win: () => {
        counting = passing.begin();
      },
      onLost: () => {
        const note = (): void => noteLost(attempts[place], cost);
        note();
        // An attempt that was without an answer has its ending noted a moment later.
        flight.answer.then(note, note);
      },
    };
  }

  /** Throws the last failure where it is the request's end. */
  #next(delivery: Delivery, tries: Tries): Next {
    const { last, repeated } = tries;
    const replay = delivery.asked.model.failover?.replay;
    if (last && this.#adapts(tries, last)) return { candidate: last.candidate, isAnew: true };
    if (last && !mayRepeat(last.failure, replay ?? 'always')) throw last.failure;
    const again = (candidate: Candidate): Next => {
      repeated.add(candidate.route.id);
      return { candidate, isAnew: true };
    };
    const isFresh = last !== null && !repeated.has(last.candidate.route.id);
    if (isFresh && last.failure.evidence === 'stale') return again(last.candidate);
    const choice = tries.asked < this.#attemptsMax ? this.#choose(delivery, tries) : NO_MORE;
    if (choice.kind === 'candidate') return { candidate: choice.candidate, isAnew: false };
    if (isFresh && isWorthRepeating(last, replay)) return again(last.candidate);
    if (choice.kind === 'resting') noteSkipped(delivery.attempts, choice);
    throw last?.failure ?? new AllRest(choice.kind === 'resting' ? choice.waitMs : 0);
  }

  #adapts({ adapted }: Tries, { candidate, failure }: NonNullable<Tries['last']>): boolean {
    const field = this.#forwarder.learn(candidate, failure);
    const key = `${candidate.route.id}/${field}`;
    if (field === null || adapted.has(key)) return false;
    adapted.add(key);
    return true;
  }

  #choose({ asked }: Delivery, { session, tried, windowMin }: Tries): Choice {
    const now = monotonicMs();
    const isLarger = (candidate: Candidate): boolean =>
      windowOf(candidate, asked.model) > windowMin;
    return route({
      groups:
        windowMin < 0 ? asked.candidates : asked.candidates.map((group) => group.filter(isLarger)),
      tried,
      preferred: this.#affinity.routeOf(session, now),
      health: this.#health,
      now,
      random: Math.random,
    });
  }
}

const NO_MORE: Choice = { kind: 'exhausted' };

function noteLost(attempt: RouteAttempt | undefined, cost: AttemptCost): void {
  if (!attempt) return;
  attempt.cost = cost;
  if (attempt.error === undefined || attempt.error === 'given_up') attempt.error = 'hedge_lost';
}

function noteFailure(delivery: Delivery, tries: Tries, last: NonNullable<Tries['last']>): void {
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
function windowOf({ route: { context_window: own } }: Candidate, model: SnapshotModel): number {
  return own ?? model.context_window ?? 0;
}

/**
 * Whether the same route is asked once more when no other is left. By default only where nothing was sent: what an upstream has stated goes to
 * the client, whose SDK waits before it repeats. A model with `replay: always` repeats an answer that broke, too.
 */
function isWorthRepeating(
  { failure: { error, evidence }, durationMs }: NonNullable<Tries['last']>,
  replay: NonNullable<SnapshotModel['failover']>['replay'],
): boolean {
  if (evidence === 'unsent') return error.kind === 'unreachable' && durationMs < REFUSED_AT_ONCE_MS;
  const isBroken =
    evidence === 'unknown' || evidence === 'contentless' || error.kind === 'unreadable';
  return replay === 'always' && isBroken && error.kind !== 'timeout';
}

function noteSkipped(
  attempts: RouteAttempt[],
  { skipped }: Extract<Choice, { kind: 'resting' }>,
): void {
  for (const { upstreamId, routeId, reason } of skipped)
    attempts.push({ upstream_id: upstreamId, route_id: routeId, error: reason, duration_ms: 0 });
}

function outboundOf({ rid, asked, admitted, clientHeaders }: Delivery): Outbound {
  const { ask, dropped } = asked;
  return { rid, ask, outputLimit: admitted.outputLimit, dropped, clientHeaders };
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
