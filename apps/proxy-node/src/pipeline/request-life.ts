import { wasTried, type Outcome } from '@tollgate/contracts';
import { namesStored, type Ask } from '@tollgate/protocols';
import { monotonicMs } from '../monotonic-ms.ts';
import type { QuotaOfRequest, TakeQuota } from '../http/body-quota.ts';
import {
  ClientGone,
  mayBeLarge,
  receiveBody,
  TAKES_NOTHING,
  type BodyListener,
} from '../http/read-body.ts';
import type { Asking } from '../observe/incident-log.ts';
import type { RoutingIndex } from '../snapshot/routing-index.ts';
import type { Admitted } from './admission/admission.ts';
import type { Metered, MeteredListener } from './answers/answer-meter.ts';
import { askingOf, authenticate, type Credentials } from './request/authenticate.ts';
import { requestIds, type ClientRequest } from './request/client-request.ts';
import { admissionOf, admittedElsewhere, fallbackTurn } from './fallback-turn.ts';
import { AccessEnded, ChargedFailure, nothing, notServing, stopping } from './answers/no-answer.ts';
import { namedStored, NOTHING_STORED, noteUse, type NamedStored } from './named-stored.ts';
import { askOf, routesFor, type Asked } from './request/parse.ts';
import { droppedHeaders } from './request/premiums.ts';
import { finalOf } from './final-of.ts';
import { answerTo } from './thread-failure.ts';
import { Turn, type TurnHost } from './turn.ts';
import type { LiveSet } from '../live-map.ts';

/** Is the pipeline of a request. */
export interface LifeHost extends TurnHost {
  /** Holds the requests that are admitted and have not ended: the node cuts them when it stops. */
  readonly running: LiveSet<Turn>;
  /** Answers the request with an error. `asking` is null where it was admitted. */
  report(request: ClientRequest, error: unknown, asking: Asking | null): void;
}

/**
 * One request, start to finish: the only file that knows the order. The methods stand in the order in which they happen, and those of its interfaces are the
 * callbacks of what it waits for. An ordinary request passes each once; `async` is what few need.
 */
export class RequestLife implements BodyListener, MeteredListener {
  readonly #host: LifeHost;
  readonly #request: ClientRequest;
  readonly #onServed: (request: ClientRequest) => void;
  readonly #quota: QuotaOfRequest;
  #index!: RoutingIndex;
  #credentials!: Credentials;
  /** Is the name in the request; null until it is read. */
  #modelName: string | null = null;
  /** Is set when the request is admitted. */
  #turn!: Turn;
  /** The model that was asked for has failed, and another has the request. */
  #isFallback = false;

  constructor(host: LifeHost, request: ClientRequest, onServed: (request: ClientRequest) => void) {
    this.#host = host;
    this.#request = request;
    this.#onServed = onServed;
    this.#quota = host.parts.bodies.enter();
    host.parts.gate.enter();
  }

  begin(): void {
    const { incoming, addressHex, observed } = this.#request;
    const { gate, admitter } = this.#host.parts;
    try {
      this.#index = gate.open();
      observed?.enter('authenticate');
      this.#credentials = authenticate(incoming.headers);
    } catch (error) {
      return this.#refuse(error);
    }
    if (!mayBeLarge(incoming.headers)) return this.#read(TAKES_NOTHING);
    // An unknown caller must not make the node read and parse megabytes: for these the key is judged before the body.
    admitter.accountOf(this.#credentials, addressHex).then(
      (accountId) => this.#read(this.#quota.takeFor(accountId)),
      (error: unknown) => this.#refuse(error),
    );
  }

  #read(take: TakeQuota): void {
    this.#request.observed?.enter('parse');
    try {
      const bytesMax = this.#host.parts.limits.bodyBytesMax;
      receiveBody(this.#request.incoming, { bytesMax, take }, this);
    } catch (error) {
      this.bodyFailed(error);
    }
  }

  bodyRead(body: Buffer): void {
    let asked: Asked;
    try {
      const ask = askOf(this.#request, body);
      if (ask instanceof Promise || namesStored(ask)) return void this.#askStored(ask);
      asked = this.#routed(ask, NOTHING_STORED);
    } catch (error) {
      return this.bodyFailed(error);
    }
    this.#admit(asked);
  }

  /** Handles a large body, or one that names what is stored. */
  async #askStored(parsing: Ask | Promise<Ask>): Promise<void> {
    const { addressHex } = this.#request;
    const { admitter, reach } = this.#host.parts;
    const asking = { keys: this.#credentials, addressHex, index: this.#index, admitter, reach };
    let asked: Asked;
    try {
      const ask = await parsing;
      const stored = namesStored(ask) ? await namedStored(ask, asking) : NOTHING_STORED;
      asked = this.#routed(ask, stored);
    } catch (error) {
      return this.bodyFailed(error);
    }
    if (asked.stored.key) this.#credentials = [asked.stored.key];
    this.#admit(asked);
  }

  #routed(ask: Ask, stored: NamedStored): Asked {
    const { receivedAtMs } = this.#request;
    this.#modelName = ask.model;
    return routesFor(ask, { index: this.#index, receivedAtMs, stored });
  }

  /** A caller without a valid key must not learn anything from a 400 or 404: the key is checked before the error is reported. */
  bodyFailed(cause: unknown): void {
    if (cause instanceof ClientGone) return this.#refuse(cause);
    this.#host.parts.admitter.accountOf(this.#credentials, this.#request.addressHex).then(
      () => this.#refuse(cause),
      (denial: unknown) => this.#refuse(denial),
    );
  }

  #admit(asked: Asked): void {
    const request = this.#request;
    const caller = { request, credentials: this.#credentials, index: this.#index };
    request.observed?.enter('admit');
    const admission = admissionOf(this.#host, caller, asked);
    this.#host.parts.admitter.admit(caller.credentials, admission).then(
      (admitted) => this.#admitted(asked, admitted),
      (error: unknown) =>
        void admittedElsewhere(this.#host, asked, { ...caller, error })
          .catch(() => null)
          .then((other) => (other ? this.#tookOver(other) : this.#refuse(answerTo(asked, error)))),
    );
  }

  #tookOver({ asked, admitted }: Pick<Turn, 'asked' | 'admitted'>): void {
    this.#isFallback = true;
    this.#admitted(asked, admitted);
  }

  #admitted(asked: Asked, admitted: Admitted): void {
    this.#request.observed?.leave();
    this.#deliver(new Turn(this.#host, { request: this.#request, asked, admitted }));
  }

  /** From here a hold exists, so every way out must settle it. The first settle wins: twice is harmless, never is a leak. */
  #deliver(turn: Turn): void {
    const { failover, reach } = this.#host.parts;
    const { asked, admitted, reply } = turn;
    this.#turn = turn;
    try {
      reply.addHeaders(admitted.headers);
      if (asked.dropped.length > 0) reply.addHeaders(droppedHeaders(asked.dropped));
      this.#host.running.add(turn);
      const { conversation } = asked.stored;
      if (!conversation) return failover.deliver(turn, this);
      noteUse(reach, conversation, turn).then(
        () => failover.deliver(turn, this),
        (error: unknown) => this.failed(error),
      );
    } catch (error) {
      this.failed(error);
    }
  }

  /** The answer is over, all but its end, which the client gets once the final is in the journal: it must not know more than that. */
  metered(metered: Metered): void {
    this.#closeMeter();
    try {
      this.#settle(metered, () => {
        metered.sendEnd();
        this.#over();
      });
    } catch (error) {
      metered.sendEnd();
      void this.#fallBack(error);
    }
  }

  /** There is no answer. A client that has left is charged for what its upstream bills. */
  failed(failure: unknown): void {
    const { passing, reply } = this.#turn;
    if (reply.isGone)
      return void passing.left(failure).then(
        (metered) => this.metered(metered),
        (cause: unknown) => {
          this.#closeMeter();
          void this.#fallBack(cause);
        },
      );
    this.#turn.isUndelivered = true;
    const { stopReason } = passing;
    this.#closeMeter();
    void this.#fallBack(stopReason ? new AccessEnded(stopReason) : failure);
  }

  #closeMeter(): void {
    const { passing, delivered } = this.#turn;
    this.#host.running.delete(this.#turn);
    passing.close();
    delivered?.drop();
  }

  async #fallBack(failure: unknown): Promise<void> {
    const turn = this.#turn;
    const caller = { error: failure, credentials: this.#credentials, index: this.#index };
    const next = this.#isFallback
      ? null
      : await fallbackTurn(this.#host, turn, caller).catch(() => null);
    if (!next) return this.#fail(failure);
    this.#isFallback = true;
    const failed = { ...nothing('upstream_failed', turn.reply), status: 502 };
    this.#settle(failed, () => this.#deliver(next));
  }

  #fail(error: unknown): void {
    const { request, asked, reply, isUndelivered, passing } = this.#turn;
    const { isCut } = this.#host;
    // The stream had begun with a keep-alive: the failure can only be reported inside it, once it is in the journal.
    const isInStream = reply.isStarted && isUndelivered;
    const reported = isUndelivered && isCut ? notServing() : answerTo(asked, error);
    if (!isInStream) this.#host.report(request, reported, null);
    const free = nothing(this.#outcomeOf(error), reply);
    const metered = error instanceof ChargedFailure ? { ...free, counted: error.counted } : free;
    try {
      this.#settle(metered, () => {
        if (isInStream) passing.fail(isCut ? stopping() : error);
        this.#over();
      });
    } catch (cause) {
      if (isInStream) passing.fail(error);
      this.#refuse(cause);
    }
  }

  #outcomeOf(error: unknown): Outcome {
    if (this.#host.isCut) return 'node_stopped';
    if (error instanceof ChargedFailure) return 'upstream_interrupted';
    return error instanceof AccessEnded ? error.outcome : 'upstream_failed';
  }

  /** `onJournalled` is called once the final is in the journal. */
  #settle(metered: Metered, onJournalled: () => void): void {
    const { request, asked, admitted, attempts, answeredBy, run } = this.#turn;
    const { log, node, trust, onFinal, background } = this.#host.parts;
    // The upstream is asked for usage that its stream did not report.
    if (run && (metered.outcome !== 'completed' || metered.counted.basis !== 'reported')) {
      background.take({ hold: run, handle: admitted.hold });
      return onJournalled();
    }
    if (run) background.over(run);
    const { rid, receivedAtMs, receivedMonotonicMs, observed } = request;
    observed?.enter('journal');
    const final = finalOf({
      turn: this.#turn,
      metered,
      node,
      startedAtMs: receivedAtMs,
      durationMs: monotonicMs() - receivedMonotonicMs,
      traceparent: observed?.traceparentFor(metered.outcome),
    });
    admitted.hold.settle(final, onJournalled);
    observed?.ended(rid, final, asked.model.name);
    const { upstream_id: upstreamId, model_id: modelId } = final;
    const answered = { rid, upstreamId, modelId, accountId: admitted.accountId };
    trust.note(answered, metered.counted, monotonicMs());
    // When all routes rest, the log has an entry from the time at which they began to.
    const isUpstreams = final.outcome.startsWith('upstream_') && attempts.some(wasTried);
    if (isUpstreams)
      log.warn(
        { ...requestIds(request), outcome: final.outcome, attempts },
        'upstream request failed',
      );
    onFinal(rid, final, { asked, excessTokens: metered.counted.excessTokens, answeredBy });
  }

  /** Ends a request that has no hold. */
  #refuse(error: unknown): void {
    this.#host.report(this.#request, error, askingOf(this.#credentials, this.#modelName));
    this.#over();
  }

  #over(): void {
    this.#quota.leave();
    this.#host.parts.gate.leave();
    this.#onServed(this.#request);
  }
}
