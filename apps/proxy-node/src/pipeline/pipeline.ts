import { wasTried, type Outcome } from '@tollgate/contracts';
import { namesStored } from '@tollgate/protocols';
import { monotonicMs } from '../monotonic-ms.ts';
import type { QuotaOfRequest, TakeQuota } from '../http/body-quota.ts';
import { ClientGone, mayBeLarge } from '../http/read-body.ts';
import { isExpected, sendError } from './send-error.ts';
import { traceIds } from '../observe/observer.ts';
import { Refusal } from '../refusals.ts';
import type { RoutingIndex } from '../snapshot/routing-index.ts';
import type { AnswerMeter, Metered } from './answers/answer-meter.ts';
import { authenticate, type Credentials } from './request/authenticate.ts';
import { requestIds, type ClientRequest } from './request/client-request.ts';
import { askedOf, comingFrom, fallbacksOn } from './fallbacks.ts';
import { AccessEnded, ChargedFailure, nothing, notServing, stopping } from './answers/no-answer.ts';
import { namedStored, NOTHING_STORED, noteUse } from './named-stored.ts';
import { parse, routesFor, type Asked } from './request/parse.ts';
import { droppedHeaders } from './request/premiums.ts';
import type { PipelineParts } from './pipeline-parts.ts';
import { settle } from './settle.ts';
import { Turn, type Caller, type TurnHost } from './turn.ts';
import { LiveSet } from '../live-map.ts';

/** Gives nothing back: a body that is not large takes no room. */
const TAKES_NOTHING = (): void => undefined;

/** One request, start to finish. The only file that knows the order. */
export class Pipeline implements TurnHost {
  readonly parts: PipelineParts;
  isCut = false;
  readonly #running = new LiveSet<AnswerMeter>();

  constructor(parts: PipelineParts) {
    this.parts = parts;
  }

  /** Never throws: every request gets an answer in its own protocol's shape, or had its connection closed by its client. */
  async serve(request: ClientRequest): Promise<void> {
    const { gate, bodies } = this.parts;
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
    this.isCut = true;
    for (const answer of this.#running) answer.cut();
  }

  async #serve(request: ClientRequest, quota: QuotaOfRequest): Promise<void> {
    const { incoming, rid, receivedAtMs, addressHex, observed } = request;
    const { gate, admitter, trust } = this.parts;
    const index = gate.open();
    observed?.enter('authenticate');
    const presented = authenticate(incoming.headers);
    // An unknown caller must not make the node read and parse megabytes: for these the key is judged before the body.
    const take = mayBeLarge(incoming.headers)
      ? quota.takeFor(await admitter.accountOf(presented, addressHex))
      : TAKES_NOTHING;
    observed?.enter('parse');
    const asked = await this.#ask(request, { presented, index, take });
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
    await this.#answer(new Turn(this, { request, asked, admitted }), { credentials, index });
  }

  /** A caller without a valid key must not learn anything from a 400 or 404: the key is checked before the error is reported. */
  async #ask(
    request: ClientRequest,
    { presented, index, take }: { presented: Credentials; index: RoutingIndex; take: TakeQuota },
  ): Promise<Asked> {
    const { receivedAtMs, addressHex } = request;
    const { admitter, reach, limits } = this.parts;
    try {
      const ask = await parse(request, { bytesMax: limits.bodyBytesMax, take });
      const stored = namesStored(ask)
        ? await namedStored(ask, { keys: presented, addressHex, index, admitter, reach })
        : NOTHING_STORED;
      return routesFor(ask, { index, receivedAtMs, stored });
    } catch (error) {
      if (!(error instanceof ClientGone)) await admitter.accountOf(presented, addressHex);
      throw error;
    }
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
      await this.#settle(turn, { ...nothing('upstream_failed', turn.reply), status: 502 });
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
    const { admitter, trust, newRid } = this.parts;
    if (isLast || this.isCut || reply.isGone) return null;
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
      const taken = { request: { ...request, rid }, asked: other, admitted };
      return new Turn(this, taken, comingFrom(attempts));
    }
    return null;
  }

  async #fail(turn: Turn, error: unknown): Promise<void> {
    const { request, isUndelivered } = turn;
    const metered = (): Metered => {
      const free = nothing(this.#outcomeOf(error), request.reply);
      return error instanceof ChargedFailure ? { ...free, counted: error.counted } : free;
    };
    if (request.reply.isStarted && isUndelivered) {
      // The stream had begun with a keep-alive; the failure can only be reported inside it.
      try {
        await this.#settle(turn, metered());
      } finally {
        turn.passing.fail(this.isCut ? stopping() : error);
      }
      return;
    }
    try {
      this.#refuse(request, isUndelivered && this.isCut ? notServing() : error);
    } finally {
      await this.#settle(turn, metered());
    }
  }

  async #deliver(turn: Turn): Promise<Metered> {
    const { reply, asked, admitted } = turn;
    reply.addHeaders(admitted.headers);
    if (asked.dropped.length > 0) reply.addHeaders(droppedHeaders(asked.dropped));
    const { passing } = turn;
    this.#running.add(passing);
    try {
      const { conversation } = asked.stored;
      if (conversation) await noteUse(this.parts.reach, conversation, turn);
      return await this.parts.failover.deliver(turn);
    } catch (error) {
      if (reply.isGone) return await passing.left(error);
      turn.isUndelivered = true;
      throw passing.stopReason ? new AccessEnded(passing.stopReason) : error;
    } finally {
      this.#running.delete(passing);
      passing.close();
    }
  }

  #outcomeOf(error: unknown): Outcome {
    if (this.isCut) return 'node_stopped';
    if (error instanceof ChargedFailure) return 'upstream_interrupted';
    return error instanceof AccessEnded ? error.outcome : 'upstream_failed';
  }

  /** Resolves once the final is in the journal: the client must not know more than that. */
  async #settle(turn: Turn, metered: Metered): Promise<void> {
    const { request, asked, admitted, attempts, run } = turn;
    const { log, node, trust, onFinal, background } = this.parts;
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
    const { log, refusals } = this.parts;
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
