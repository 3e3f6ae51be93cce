import { deliveredOf } from '@tollgate/protocols';
import { wasTried, type Outcome } from '@tollgate/contracts';
import { monotonicMs } from '../monotonic-ms.ts';
import type { QuotaOfRequest } from '../http/body-quota.ts';
import { ClientGone, mayBeLarge } from '../http/read-body.ts';
import { isExpected, sendError } from './send-error.ts';
import { traceIds } from '../observe/observer.ts';
import { Refusal } from '../refusals.ts';
import type { AnswerMeter, BackgroundSeen, Metered } from './answers/answer-meter.ts';
import { authenticate, type Credentials } from './request/authenticate.ts';
import { requestIds, type ClientRequest } from './request/client-request.ts';
import { askedOf, comingFrom, fallbacksOn } from './fallbacks.ts';
import { meter } from './meter.ts';
import { AccessEnded, ChargedFailure, nothing, notServing, stopping } from './answers/no-answer.ts';
import { namedStored, noteUse } from './named-stored.ts';
import { parse, routesFor } from './request/parse.ts';
import { CloserEstimate } from './request/closer-estimate.ts';
import { droppedHeaders } from './request/premiums.ts';
import { upstreamHeaders } from './sending/upstream-headers.ts';
import type { PipelineParts } from './pipeline-parts.ts';
import { ATTEMPTS_SHOWN_MAX, settle } from './settle.ts';
import { tallyOf } from './answers/tally-of.ts';
import type { Caller, Turn } from './turn.ts';
import { LiveSet } from '../live-map.ts';

/** One request, start to finish. The only file that knows the order. */
export class Pipeline {
  readonly #parts: PipelineParts;
  readonly #running = new LiveSet<AnswerMeter>();
  #isCut = false;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /** Never throws: every request gets an answer in its own protocol's shape, or had its connection closed by its client. */
  async serve(request: ClientRequest): Promise<void> {
    const { gate, bodies } = this.#parts;
    const quota = bodies.enter();
    gate.enter();
    try {
      await this.#serve(request, quota);
    } catch (error) {
      this.#refuse(request, error);
    } finally {
      quota.leave();
      gate.leave();
    }
  }

  /** The node stops and its drain time is over: every answer ends now with an error in its own protocol and is billed for what was delivered. */
  cut(): void {
    this.#isCut = true;
    for (const answer of this.#running) answer.cut();
  }

  async #serve(request: ClientRequest, quota: QuotaOfRequest): Promise<void> {
    const { incoming, rid, receivedAtMs, addressHex, observed } = request;
    const { gate, admitter, trust, limits, reach } = this.#parts;
    const index = gate.open();
    observed?.enter('authenticate');
    const presented = authenticate(incoming.headers);
    // An unknown caller must not make the node read and parse megabytes: for these the key is judged before the body.
    const take = mayBeLarge(incoming.headers)
      ? quota.takeFor(await admitter.accountOf(presented, addressHex))
      : () => undefined;
    observed?.enter('parse');
    const asked = await parse({
      ...request,
      index,
      storedFor: (ask) => namedStored(ask, { keys: presented, addressHex, index, admitter, reach }),
      bytesMax: limits.bodyBytesMax,
      take,
    }).catch((error: unknown) => this.#afterAccess(presented, addressHex, error));
    const credentials: Credentials = asked.stored.key ? [asked.stored.key] : presented;
    observed?.enter('admit');
    const admitted = await admitter.admit(credentials, {
      rid,
      receivedAtMs,
      addressHex,
      client: request.reply,
      ask: asked.ask,
      model: asked.model,
      upstreamModels: asked.upstreamModels,
      price: asked.price,
      overrun: trust.overrunOf(asked.candidates, credentials, monotonicMs()),
    });
    observed?.leave();
    const turn = { request, asked, admitted, attempts: [], undelivered: null, run: null };
    await this.#answer(turn, { credentials, index });
  }

  /** From here a hold exists, so every way out must settle it. The first settle wins: twice is harmless, never is a leak. */
  async #answer(turn: Turn, caller: Caller): Promise<void> {
    try {
      const metered = await this.#deliver(turn);
      try {
        await this.#settle(turn, metered);
      } finally {
        metered.sendEnd();
      }
    } catch (error) {
      const next = await this.#fallBack(turn, error, caller).catch(() => null);
      if (!next) return await this.#fail(turn, error);
      await this.#settle(turn, { ...nothing('upstream_failed', turn.request.reply), status: 502 });
      await this.#answer(next, { ...caller, isLast: true });
    }
  }

  /** Another model takes the request over, on a subscription and with a hold of its own; null when none does. */
  async #fallBack(
    { request, asked, attempts }: Turn,
    error: unknown,
    { credentials, index, isLast = false }: Caller,
  ): Promise<Turn | null> {
    const { reply, receivedAtMs, addressHex } = request;
    const { admitter, trust, newRid } = this.#parts;
    if (isLast || this.#isCut || reply.isGone) return null;
    for (const name of fallbacksOn(asked.model, error)) {
      const other = askedOf(asked, name, (ask) =>
        routesFor(ask, { index, receivedAtMs, stored: asked.stored }),
      );
      if (!other) continue;
      const rid = newRid();
      const overrun = trust.overrunOf(other.candidates, credentials, monotonicMs());
      const place = { rid, receivedAtMs, addressHex, client: reply };
      // The key's windows have counted this request already. A model that refuses it leaves the others to be tried.
      const admitted = await admitter
        .admit(credentials, { ...other, ...place, overrun, isCounted: false })
        .catch(() => null);
      if (!admitted) continue;
      reply.addHeaders({ 'x-request-id': rid, 'request-id': rid });
      return {
        request: { ...request, rid },
        asked: other,
        admitted,
        attempts: comingFrom(attempts),
        undelivered: null,
        run: null,
      };
    }
    return null;
  }

  async #fail(turn: Turn, error: unknown): Promise<void> {
    const { request, undelivered } = turn;
    const metered = (): Metered => {
      const free = nothing(this.#outcomeOf(error), request.reply);
      return error instanceof ChargedFailure ? { ...free, counted: error.counted } : free;
    };
    if (request.reply.isStarted && undelivered) {
      // The stream had begun with a keep-alive; the failure can only be reported inside it.
      try {
        await this.#settle(turn, metered());
      } finally {
        undelivered.fail(this.#isCut ? stopping() : error);
      }
      return;
    }
    try {
      this.#refuse(request, undelivered && this.#isCut ? notServing() : error);
    } finally {
      await this.#settle(turn, metered());
    }
  }

  /** A caller without a valid key must not learn anything from a 400 or 404: the key is checked before the error is reported. */
  async #afterAccess(credentials: Credentials, addressHex: string, error: unknown): Promise<never> {
    if (!(error instanceof ClientGone))
      await this.#parts.admitter.accountOf(credentials, addressHex);
    throw error;
  }

  async #deliver(turn: Turn): Promise<Metered> {
    const { request, asked, admitted, attempts } = turn;
    const { reply } = request;
    reply.addHeaders({ ...admitted.headers, ...droppedHeaders(asked.dropped) });
    const passing = this.#meter(turn);
    this.#running.add(passing);
    try {
      await noteUse(this.#parts.reach, turn);
      return await this.#parts.failover.deliver({
        rid: request.rid,
        clientHeaders: request.incoming.headers,
        observed: request.observed,
        asked,
        admitted,
        attempts,
        passing,
        isOver: () => reply.isGone || this.#isCut || passing.stopReason !== null,
        onAnswer: (by) => {
          request.observed?.enter('answer');
          reply.addHeaders(upstreamHeaders(asked.model, by));
        },
      });
    } catch (error) {
      if (reply.isGone) return await passing.left(error);
      turn.undelivered = passing;
      throw passing.stopReason ? new AccessEnded(passing.stopReason) : error;
    } finally {
      this.#running.delete(passing);
      passing.close();
    }
  }

  #meter(turn: Turn): AnswerMeter {
    const { request, asked, admitted } = turn;
    const { ticker, reasoning, limits } = this.#parts;
    return meter({
      isStream: asked.ask.isStream,
      reply: request.reply,
      hold: admitted.hold,
      createTally: (splice) =>
        tallyOf(asked.ask.prompt, { admitted, splice, closer: CloserEstimate.of(asked) }),
      delivered: asked.model.failover?.continues ? deliveredOf(asked.ask) : null,
      ticker,
      receivedMonotonicMs: request.receivedMonotonicMs,
      keepAliveMs: limits.keepAliveMs,
      drain: limits.drain,
      reasoning: reasoning.of(asked.model.id),
      onBackground: asked.ask.isBackground ? (seen) => this.#begin(turn, seen) : null,
    });
  }

  #outcomeOf(error: unknown): Outcome {
    if (this.#isCut) return 'node_stopped';
    if (error instanceof ChargedFailure) return 'upstream_interrupted';
    return error instanceof AccessEnded ? error.outcome : 'upstream_failed';
  }

  #begin(turn: Turn, seen: BackgroundSeen): void {
    const { request, admitted, attempts } = turn;
    turn.run = this.#parts.background.begin(admitted.hold, {
      ...seen,
      bounds: admitted.plan.bounds,
      attempts: attempts.slice(0, ATTEMPTS_SHOWN_MAX),
      traceparent: request.observed?.traceparentFor('completed'),
    });
  }

  /** Resolves once the final is in the journal: the client must not know more than that. */
  async #settle(turn: Turn, metered: Metered): Promise<void> {
    const { request, asked, admitted, attempts, run } = turn;
    const { log, node, trust, onFinal, background } = this.#parts;
    // What its stream has not reported to its end, the upstream is asked for.
    if (run && (metered.outcome !== 'completed' || metered.counted.basis !== 'reported'))
      return background.take({ hold: run, handle: admitted.hold });
    if (run) background.over(run);
    const { rid, receivedAtMs, receivedMonotonicMs, observed } = request;
    observed?.enter('journal');
    const { final, journalled } = settle({
      admitted,
      asked,
      metered,
      attempts,
      node,
      startedAtMs: receivedAtMs,
      durationMs: monotonicMs() - receivedMonotonicMs,
      traceparent: observed?.traceparentFor(metered.outcome),
    });
    observed?.ended(rid, final, asked.model.name);
    const { upstream_id: upstreamId, model_id: modelId } = final;
    const answered = { rid, upstreamId, modelId, accountId: admitted.accountId };
    trust.note(answered, metered.counted, monotonicMs());
    // Where all rest, the log said so when they began to.
    const isUpstreams = final.outcome.startsWith('upstream_') && attempts.some(wasTried);
    if (isUpstreams)
      log.warn(
        { ...requestIds(request), outcome: final.outcome, attempts },
        'upstream request failed',
      );
    onFinal(rid, final, { asked, excessTokens: metered.counted.excessTokens });
    return journalled;
  }

  #refuse(
    { reply, rid, callerId, shape, observed, incoming }: ClientRequest,
    error: unknown,
  ): void {
    const { log, refusals } = this.#parts;
    if (error instanceof ClientGone) return;
    const ids = traceIds(observed, incoming.headers);
    if (!isExpected(error)) log.error({ err: error, rid, ...ids }, 'request failed unexpectedly');
    const { status, code } = sendError(reply, error, { rid, shape });
    observed?.refused(status, code);
    refusals.note({
      rid,
      ids,
      callerId,
      status,
      code,
      about: error instanceof Refusal ? error.about : null,
    });
  }
}
