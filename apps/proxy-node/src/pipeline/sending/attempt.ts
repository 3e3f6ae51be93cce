import type { IncomingHttpHeaders } from 'node:http';
import {
  statedLimits,
  type Ask,
  type ClientProtocol,
  type DroppedField,
  type Exchange,
  type StreamReader,
} from '@tollgate/protocols';
import type { UsageFinal } from '@tollgate/contracts';
import type { UsageBounds } from '@tollgate/metering';
import { stopsBillingOnClose } from '@tollgate/snapshot';
import { monotonicMs } from '../../monotonic-ms.ts';
import type { ObservedAttempt, ObservedRequest } from '../../observe/observed-request.ts';
import type { Candidate } from '../../snapshot/routing-index.ts';
import type { OpenStored } from '../../upstream/stored-ids.ts';
import type { AnswerHead, UpstreamCall } from '../../upstream/upstream-call.ts';
import type { UpstreamFailure } from '../../upstream/upstream-failure.ts';
import { endingOf, seenOf, isRoutesTrouble } from '../../upstream/upstream-failure.ts';
import type { RouteUse, UpstreamHealth } from '../../upstream/upstream-health.ts';

export type RouteAttempt = UsageFinal['attempts'][number];

/** Is the wire shape's own limit. */
export const ATTEMPTS_SHOWN_MAX = 16;

/** Holds the request that goes upstream, and what is known of its sender and its hold. */
export interface Outbound {
  readonly rid: string;
  readonly accountId: number;
  readonly modelId: number;
  /** Is the model's setting `caches_prompts`. */
  readonly cachesPrompts: boolean;
  readonly ask: Ask;
  readonly openStored: OpenStored;
  readonly outputLimit: number | null;
  /** Bounds the usage that the hold covers. */
  readonly bounds: UsageBounds;
  readonly dropped: readonly DroppedField[];
  readonly clientHeaders: IncomingHttpHeaders;
  readonly observed: ObservedRequest | null;
}

/** Describes a 2xx answer whose body is still to come. `close` must be called once when it is read or given up. */
export interface Answer {
  readonly call: UpstreamCall;
  readonly exchange: Exchange;
  /** Is present for streams. */
  readonly reader: StreamReader | null;
  readonly attempt: RouteAttempt;
  readonly upstreamId: number;
  readonly credentialId: number | undefined;
  close(failure: UpstreamFailure | null): void;
}

/** Gets the answer of an attempt, or UpstreamFailure. */
export interface AnswerListener {
  answered(answer: Answer): void;
  failed(error: unknown): void;
}

export interface Flight {
  /** Ends this attempt at once, whatever it waits for. */
  abort(reason: string): void;
  readonly reader: StreamReader | null;
  /** Calls the listener once, and at once where the answer is known already. */
  answerTo(listener: AnswerListener): void;
  /** Returns whether the request is on its way to the provider, which may bill it from then on. */
  isSent(): boolean;
  /** Returns whether the provider bills no more once the connection of a stream is closed. */
  stopsBillingOnClose(): boolean;
}

/** Does the same as `answerTo` with a promise. Rejects with UpstreamFailure. */
export function answerOf(flight: Flight): Promise<Answer> {
  return new Promise((resolve, reject) => flight.answerTo({ answered: resolve, failed: reject }));
}

/** Is one attempt at an upstream, counted in and, once, out again; what it says of the route's health goes to routing. */
export class Attempt implements Flight, Answer {
  readonly candidate: Candidate;
  readonly exchange: Exchange;
  readonly call: UpstreamCall;
  readonly reader: StreamReader | null;
  readonly attempt: RouteAttempt;
  readonly seen: ObservedAttempt | null;
  readonly #health: UpstreamHealth;
  readonly #use: RouteUse;
  readonly #protocol: ClientProtocol;
  readonly #startedAt = monotonicMs();
  #isOpen = true;
  /** Is null until there is an answer, or none will come. */
  #outcome: 'answered' | UpstreamFailure | null = null;
  #listener: AnswerListener | null = null;

  constructor({
    health,
    candidate,
    outbound: { ask, accountId, observed, outputLimit },
    exchange,
    call,
    reader,
  }: {
    health: UpstreamHealth;
    candidate: Candidate;
    outbound: Outbound;
    exchange: Exchange;
    call: UpstreamCall;
    reader: StreamReader | null;
  }) {
    const { id: routeId } = candidate.route;
    const { id: upstreamId, credentialId } = candidate.upstream;
    const { protocol } = ask;
    this.candidate = candidate;
    this.exchange = exchange;
    this.call = call;
    this.reader = reader;
    this.attempt = { upstream_id: upstreamId, route_id: routeId, duration_ms: 0 };
    this.seen = observed?.attempt(candidate, { protocol, outputLimit }) ?? null;
    this.#health = health;
    this.#use = { routeId, upstreamId, credentialId, accountId };
    this.#protocol = protocol;
    health.started(this.#use, this.#startedAt);
  }

  get credentialId(): number | undefined {
    return this.candidate.upstream.credentialId;
  }

  get upstreamId(): number {
    return this.candidate.upstream.id;
  }

  abort(reason: string): void {
    this.call.abort(reason);
  }

  isSent(): boolean {
    return this.call.isSent;
  }

  stopsBillingOnClose(): boolean {
    return stopsBillingOnClose(this.candidate.upstream);
  }

  answerTo(listener: AnswerListener): void {
    if (this.#outcome === null) this.#listener = listener;
    else if (this.#outcome === 'answered') listener.answered(this);
    else listener.failed(this.#outcome);
  }

  /** Takes the head of an answer that has begun. */
  answered({ status, headers }: AnswerHead): void {
    this.heard(headers);
    this.attempt.status = status;
    const now = monotonicMs();
    this.#health.answered(this.#use, { latencyMs: now - this.#startedAt, now });
    this.#outcome = 'answered';
    this.#listener?.answered(this);
  }

  /** Its provider may state its limits in any answer. */
  heard(headers: AnswerHead['headers']): void {
    const limits = statedLimits(headers, Date.now());
    if (limits) this.#health.rooms.stated(this.#use, limits, monotonicMs());
  }

  /** Ends the attempt without an answer. */
  failed(failure: UpstreamFailure): void {
    if (this.#outcome !== null) return;
    this.close(failure);
    this.#outcome = failure;
    this.#listener?.failed(failure);
  }

  close(failure: UpstreamFailure | null): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const now = monotonicMs();
    this.attempt.duration_ms = now - this.#startedAt;
    this.#health.ended(this.#use);
    if (failure) Object.assign(this.attempt, endingOf(failure));
    this.seen?.end(this.attempt);
    if (!failure) this.#health.succeeded(this.#use, now);
    else if (isRoutesTrouble(failure))
      this.#health.failed(this.#use, seenOf(failure, { protocol: this.#protocol, now }));
  }
}
