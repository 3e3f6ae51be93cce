import type { IncomingHttpHeaders } from 'node:http';
import {
  createExchange,
  errorOfStored,
  PROVIDERS,
  readUpstreamError,
  type RefusableField,
  type Ask,
  type ClientProtocol,
  type DroppedField,
  type Exchange,
  type StreamReader,
  type StreamSink,
} from '@tollgate/protocols';
import type { IdSealer, UsageFinal } from '@tollgate/contracts';
import { stopsBillingOnClose } from '@tollgate/snapshot';
import { monotonicMs } from '../../monotonic-ms.ts';
import type { ObservedAttempt, ObservedRequest } from '../../observe/observed-request.ts';
import type { Candidate } from '../../snapshot/routing-index.ts';
import { collectBody } from '../../upstream/collect-body.ts';
import type { RefusedFields } from '../../upstream/refused-fields.ts';
import { requestHeaders, singleHeaders } from '../../upstream/request-headers.ts';
import { madeWith, storedIdsOf, type OpenStored } from '../../upstream/stored-ids.ts';
import type { Ticker } from '../../upstream/ticker.ts';
import { UpstreamCall, type AnswerHead, type CallDeadlines } from '../../upstream/upstream-call.ts';
import {
  endingOf,
  gatewayFailure,
  seenOf,
  isRoutesTrouble,
  UpstreamFailure,
} from '../../upstream/upstream-failure.ts';
import type { RouteUse, UpstreamHealth } from '../../upstream/upstream-health.ts';
import type { OpenUpstream, UpstreamPools } from '../../upstream/upstream-pools.ts';

export type RouteAttempt = UsageFinal['attempts'][number];

/** What goes upstream. */
export interface Outbound {
  readonly rid: string;
  readonly accountId: number;
  readonly modelId: number;
  readonly ask: Ask;
  readonly openStored: OpenStored;
  readonly outputLimit: number | null;
  readonly dropped: readonly DroppedField[];
  readonly clientHeaders: IncomingHttpHeaders;
  readonly observed: ObservedRequest | null;
}

/** A 2xx answer whose body is still to come. `close` must be called once when it is read or given up. */
export interface Answer {
  readonly call: UpstreamCall;
  readonly exchange: Exchange;
  /** Present for streams. */
  readonly reader: StreamReader | null;
  readonly attempt: RouteAttempt;
  readonly upstreamId: number;
  close(failure: UpstreamFailure | null): void;
}

/** How one attempt is made. */
export interface Dispatch {
  readonly sink: StreamSink;
  readonly attempts: RouteAttempt[];
  readonly deadlines: CallDeadlines;
  /** On a connection of its own, instead of a kept one. */
  readonly isAnew: boolean;
}

export interface Flight {
  /** Ends this attempt at once, whatever it waits for. */
  abort(reason: string): void;
  readonly reader: StreamReader | null;
  readonly answer: Promise<Answer>;
  /** The request is on its way to the provider, which may bill it from here on. */
  isSent(): boolean;
  /** Closing the connection of a stream ends what the provider bills. */
  stopsBillingOnClose(): boolean;
}

export interface ForwardLimits {
  answerBytesMax: number;
  errorBytesMax: number;
}

/** Sends requests to upstreams: one attempt a call, its health book-keeping, and nothing about which upstream or how often. */
export class Forwarder {
  readonly #pools: UpstreamPools;
  readonly #health: UpstreamHealth;
  readonly #ticker: Ticker;
  readonly #limits: ForwardLimits;
  readonly #ids: IdSealer;
  readonly #refused: RefusedFields;

  constructor({
    pools,
    health,
    ticker,
    ids,
    refused,
    limits,
  }: {
    pools: UpstreamPools;
    health: UpstreamHealth;
    ticker: Ticker;
    ids: IdSealer;
    refused: RefusedFields;
    limits: ForwardLimits;
  }) {
    this.#pools = pools;
    this.#health = health;
    this.#ticker = ticker;
    this.#ids = ids;
    this.#refused = refused;
    this.#limits = limits;
  }

  /** `flight.answer` rejects with UpstreamFailure; the attempt is added to `attempts` either way. */
  forward(
    { route, upstream }: Candidate,
    outbound: Outbound,
    { sink, attempts, deadlines, isAnew }: Dispatch,
  ): Flight {
    const { ask } = outbound;
    const exchange = this.#exchange({ route, upstream }, outbound);
    const call = new UpstreamCall({
      deadlines,
      ticker: this.#ticker,
      bytesMax: this.#limits.answerBytesMax,
    });
    const startedAt = monotonicMs();
    const attempt: RouteAttempt = { upstream_id: upstream.id, route_id: route.id, duration_ms: 0 };
    attempts.push(attempt);
    const seen = observedOf({ route, upstream }, outbound);
    const use = useOf({ route, upstream }, outbound);
    const close = this.#track(use, { attempt, protocol: ask.protocol, seen });
    const reader = ask.isStream ? exchange.openStream(sink) : null;
    const answer = this.#send({ route, upstream, exchange, call, outbound, isAnew, seen }).then(
      (head): Answer => {
        attempt.status = head.status;
        const now = monotonicMs();
        this.#health.answered(use, { latencyMs: now - startedAt, now });
        return { call, exchange, reader, attempt, upstreamId: upstream.id, close };
      },
      (error: unknown) => {
        const failure = failureOf(error);
        close(failure);
        throw failure;
      },
    );
    return {
      abort: (reason) => call.abort(reason),
      reader,
      answer,
      isSent: () => call.isSent,
      stopsBillingOnClose: () => stopsBillingOnClose(upstream),
    };
  }

  #exchange({ route, upstream }: Candidate, outbound: Outbound): Exchange {
    const { ask, rid, accountId, openStored: open, outputLimit, dropped, clientHeaders } = outbound;
    const maker = madeWith(outbound.modelId);
    return createExchange({
      ask,
      speech: upstream,
      ids: storedIdsOf(this.#ids, { accountId, maker, open, upstreamId: upstream.id }),
      upstreamModel: route.upstream_model,
      outputLimit,
      dropped,
      outputLimitField: route.output_limit_field,
      clientHeaders: singleHeaders(clientHeaders),
      idSeed: rid,
    });
  }

  /** The field of the request that this route's model refuses, so that a repetition leaves it out; null when the failure is another. */
  learn({ route }: Candidate, failure: UpstreamFailure): RefusableField | null {
    return this.#refused.learn(route, failure);
  }

  async #send({
    route,
    upstream,
    exchange,
    call,
    outbound,
    isAnew,
    seen,
  }: Candidate & {
    exchange: Exchange;
    call: UpstreamCall;
    outbound: Outbound;
    isAnew: boolean;
    seen: ObservedAttempt | null;
  }): Promise<AnswerHead> {
    const target = this.#openUpstream(upstream);
    const { protocol } = outbound.ask;
    const bytes = this.#refused.strip(exchange.requestBody, { route, protocol });
    const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const request = {
      method: 'POST',
      path: `${target.pathPrefix}${exchange.path}`,
      headers: requestHeaders(target, upstream.protocol, {
        protocolHeaders: exchange.requestHeaders,
        isStream: outbound.ask.isStream,
        clientHeaders: outbound.clientHeaders,
        rid: outbound.rid,
        traceparent: seen?.traceparent ?? null,
      }),
      body,
    } as const;
    if (isAnew) target.dispatchAnew(request, call);
    else target.pool.dispatch(request, call);
    const head = await call.answered;
    if (head.status >= 200 && head.status < 300) return head;
    const { apiKey } = target;
    throw await this.#failureOf(call, head, { upstream, apiKey, ask: outbound.ask });
  }

  #openUpstream(upstream: Candidate['upstream']): OpenUpstream {
    try {
      return this.#pools.open(upstream);
    } catch (cause) {
      throw gatewayFailure('auth', 'The upstream refused the gateway.', {
        evidence: 'unsent',
        cause,
      });
    }
  }

  /** Redirects are not followed (security S4): a 3xx is an upstream's failure like any other status. */
  async #failureOf(
    call: UpstreamCall,
    head: AnswerHead,
    {
      upstream,
      apiKey,
      ask,
    }: Pick<Candidate, 'upstream'> & Pick<OpenUpstream, 'apiKey'> & Pick<Outbound, 'ask'>,
  ): Promise<UpstreamFailure> {
    const body = await collectBody(call, this.#limits.errorBytesMax);
    const stated = readUpstreamError({
      status: head.status,
      headers: singleHeaders(head.headers),
      body,
      secrets: apiKey === null ? [] : [apiKey],
      words: PROVIDERS[upstream.protocol].errorWords,
    });
    const error = errorOfStored(ask, stated);
    return new UpstreamFailure(
      head.status < 400 ? { ...error, kind: 'server', upstreamStatus: head.status } : error,
      { evidence: 'stated' },
    );
  }

  /** Counts the attempt in and, once, out again; what it says of the route's health goes to routing. */
  #track(
    use: RouteUse,
    {
      attempt,
      protocol,
      seen,
    }: { attempt: RouteAttempt; protocol: ClientProtocol; seen: ObservedAttempt | null },
  ): (failure: UpstreamFailure | null) => void {
    const startedAt = monotonicMs();
    let isOpen = true;
    this.#health.started(use, startedAt);
    return (failure) => {
      if (!isOpen) return;
      isOpen = false;
      const now = monotonicMs();
      attempt.duration_ms = now - startedAt;
      this.#health.ended(use);
      if (failure) Object.assign(attempt, endingOf(failure));
      seen?.end(attempt);
      if (!failure) return this.#health.succeeded(use, now);
      if (isRoutesTrouble(failure)) this.#health.failed(use, seenOf(failure, { protocol, now }));
    };
  }
}

function observedOf(
  candidate: Candidate,
  { ask: { protocol }, outputLimit, observed }: Outbound,
): ObservedAttempt | null {
  return observed?.attempt(candidate, { protocol, outputLimit }) ?? null;
}

function useOf({ route, upstream }: Candidate, { accountId }: Outbound): RouteUse {
  return { routeId: route.id, upstreamId: upstream.id, accountId };
}

function failureOf(error: unknown): UpstreamFailure {
  return error instanceof UpstreamFailure
    ? error
    : gatewayFailure('server', 'The request could not be sent.', { cause: error });
}
