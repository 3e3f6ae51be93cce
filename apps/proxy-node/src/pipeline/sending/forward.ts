import {
  createExchange,
  errorOfStored,
  PROVIDERS,
  readUpstreamError,
  type RefusableField,
  type Exchange,
  type PromptCaching,
  type StreamSink,
} from '@tollgate/protocols';
import type { IdSealer } from '@tollgate/contracts';
import { takesCacheKey } from '@tollgate/snapshot';
import type { FailedAttempt } from '../../observe/incident-log.ts';
import type { Candidate } from '../../snapshot/routing-index.ts';
import type { CallDeadlines } from '../../upstream/pace/call-deadlines.ts';
import { collectBody } from '../../upstream/collect-body.ts';
import type { RefusedFields } from '../../upstream/refused-fields.ts';
import {
  sentSecrets,
  signedRequest,
  singleHeaders,
  type SentRequest,
} from '../../upstream/request-headers.ts';
import { madeWith, storedIdsOf } from '../../upstream/stored-ids.ts';
import type { Ticker } from '../../upstream/ticker.ts';
import { UpstreamCall, type AnswerHead, type HeadListener } from '../../upstream/upstream-call.ts';
import { gatewayFailure, UpstreamFailure } from '../../upstream/upstream-failure.ts';
import { Attempt, type Flight, type Outbound, type RouteAttempt } from './attempt.ts';
import type { UpstreamHealth } from '../../upstream/upstream-health.ts';
import type { OpenUpstream, UpstreamPools } from '../../upstream/upstream-pools.ts';

/** Holds the parts with which one attempt is made. */
export interface Dispatch {
  readonly sink: StreamSink;
  readonly attempts: RouteAttempt[];
  readonly deadlines: CallDeadlines;
  /** Is true for an attempt on a connection of its own, instead of a kept one. */
  readonly isAnew: boolean;
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
  readonly #onError: (failed: FailedAttempt) => void;

  /** `onError` is called when an upstream has answered with an error. */
  constructor({
    pools,
    health,
    ticker,
    ids,
    refused,
    limits,
    onError,
  }: {
    pools: UpstreamPools;
    health: UpstreamHealth;
    ticker: Ticker;
    ids: IdSealer;
    refused: RefusedFields;
    limits: ForwardLimits;
    onError: (failed: FailedAttempt) => void;
  }) {
    this.#pools = pools;
    this.#health = health;
    this.#ticker = ticker;
    this.#ids = ids;
    this.#refused = refused;
    this.#limits = limits;
    this.#onError = onError;
  }

  /** The flight's answer is the upstream's, or UpstreamFailure; the attempt is added to `attempts` either way. */
  forward(
    candidate: Candidate,
    outbound: Outbound,
    { sink, attempts, deadlines, isAnew }: Dispatch,
  ): Flight {
    const exchange = this.#exchange(candidate, outbound);
    const call = new UpstreamCall({
      deadlines,
      ticker: this.#ticker,
      bytesMax: this.#limits.answerBytesMax,
    });
    const reader = outbound.ask.isStream ? exchange.openStream(sink) : null;
    const attempt = new Attempt({
      health: this.#health,
      candidate,
      outbound,
      exchange,
      call,
      reader,
    });
    attempts.push(attempt.attempt);
    this.#send(attempt, outbound, { attempts, isAnew });
    return attempt;
  }

  #exchange({ route, upstream }: Candidate, outbound: Outbound): Exchange {
    const { ask, rid, accountId, openStored: open, clientHeaders } = outbound;
    const { outputLimit, bounds, dropped } = outbound;
    const maker = madeWith(outbound.modelId);
    return createExchange({
      ask,
      speech: upstream,
      ids: storedIdsOf(this.#ids, {
        ...{ accountId, maker, open },
        upstreamId: upstream.id,
        credentialId: upstream.credentialId,
      }),
      upstreamModel: route.upstream_model,
      outputLimit,
      bounds,
      dropped,
      outputLimitField: route.output_limit_field,
      ...cachingFor(upstream, outbound),
      clientHeaders: singleHeaders(clientHeaders),
      idSeed: rid,
    });
  }

  /** Returns the field of the request that this route's model refuses, so that a repetition omits it; null when the failure is another. */
  learn({ route }: Candidate, failure: UpstreamFailure): RefusableField | null {
    return this.#refused.learn(route, failure);
  }

  #send(
    attempt: Attempt,
    outbound: Outbound,
    { attempts, isAnew }: Pick<Dispatch, 'attempts' | 'isAnew'>,
  ): void {
    const { exchange, call, candidate, seen } = attempt;
    const { route, upstream } = candidate;
    const { ask } = outbound;
    try {
      const target = this.#openUpstream(upstream);
      const { protocol } = ask;
      const signed = signedRequest(target, upstream.protocol, {
        method: 'POST',
        path: exchange.path,
        body: this.#refused.strip(exchange.requestBody, { route, protocol }),
        protocolHeaders: exchange.requestHeaders,
        isStream: ask.isStream,
        clientHeaders: outbound.clientHeaders,
        rid: outbound.rid,
        traceparent: seen?.traceparent ?? null,
      });
      const sent = this.#sentTo(target, outbound, attempts);
      call.headTo(new AwaitedHead(attempt, sent));
      const dispatch = (request: SentRequest): void => {
        sent.request = request;
        if (isAnew) target.dispatchAnew(request, call);
        else target.pool.dispatch(request, call);
      };
      if (!(signed instanceof Promise)) return dispatch(signed);
      signed.then(dispatch).catch((error: unknown) => attempt.failed(failureOf(error)));
    } catch (error) {
      attempt.failed(failureOf(error));
    }
  }

  #sentTo(target: OpenUpstream, outbound: Outbound, attempts: readonly RouteAttempt[]): Sent {
    const { errorBytesMax: bytesMax } = this.#limits;
    return { outbound, attempts, target, request: null, bytesMax, onError: this.#onError };
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
}

/** Describes the request of an attempt, which is the last of its `attempts` when it is sent. */
interface Sent {
  readonly outbound: Outbound;
  readonly attempts: readonly RouteAttempt[];
  readonly target: OpenUpstream;
  /** Is null until the request is signed. */
  request: SentRequest | null;
  /** Bounds the body of an error. */
  readonly bytesMax: number;
  readonly onError: (failed: FailedAttempt) => void;
}

/** Is an attempt whose answer is still to come. */
class AwaitedHead implements HeadListener {
  readonly #attempt: Attempt;
  readonly #sent: Sent;

  constructor(attempt: Attempt, sent: Sent) {
    this.#attempt = attempt;
    this.#sent = sent;
  }

  headArrived(head: AnswerHead): void {
    if (head.status >= 200 && head.status < 300) return this.#attempt.answered(head);
    this.#attempt.heard(head.headers);
    this.#failureOf(head).then(
      (failure) => this.#attempt.failed(failure),
      (error: unknown) => this.#attempt.failed(failureOf(error)),
    );
  }

  headFailed(failure: UpstreamFailure): void {
    this.#attempt.failed(failure);
  }

  /** Redirects are not followed (security S4): a 3xx is an upstream's failure like any other status. */
  async #failureOf(head: AnswerHead): Promise<UpstreamFailure> {
    const { call, candidate } = this.#attempt;
    const { outbound, target, request, bytesMax } = this.#sent;
    const body = await collectBody(call, bytesMax);
    const secrets = sentSecrets(target, request);
    this.#note(head.status, body, secrets);
    const stated = readUpstreamError({
      status: head.status,
      headers: singleHeaders(head.headers),
      body,
      secrets,
      words: PROVIDERS[candidate.upstream.protocol].errorWords,
    });
    if (target.auth?.type === 'aws' && target.clock.learn(head.headers['date'])) return wrongTime();
    const error = errorOfStored(outbound.ask, stated);
    return new UpstreamFailure(
      head.status < 400 ? { ...error, kind: 'server', upstreamStatus: head.status } : error,
      { evidence: 'stated' },
    );
  }

  #note(status: number, body: Uint8Array, secrets: readonly string[]): void {
    const { upstreamId, attempt } = this.#attempt;
    const { outbound, attempts, onError } = this.#sent;
    const { rid, accountId } = outbound;
    const place = attempts.indexOf(attempt);
    onError({ rid, accountId, upstreamId, place, status, body, secrets });
  }
}

/** The next request is signed with the provider's time: the credential is not to blame. */
function wrongTime(): UpstreamFailure {
  return gatewayFailure('server', "The gateway's clock disagrees with the upstream's.", {
    evidence: 'stated',
  });
}

/** A derived key costs nothing, so it is sent where the provider is known to use it; marks are the model's setting. */
function cachingFor(
  upstream: Candidate['upstream'],
  { accountId, cachesPrompts: marks }: Outbound,
): { caching?: PromptCaching } {
  return marks || takesCacheKey(upstream) ? { caching: { accountId, marks } } : {};
}

function failureOf(error: unknown): UpstreamFailure {
  return error instanceof UpstreamFailure
    ? error
    : gatewayFailure('server', 'The request could not be sent.', { cause: error });
}
