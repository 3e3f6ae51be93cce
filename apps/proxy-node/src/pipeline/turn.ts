import type { IncomingHttpHeaders } from 'node:http';
import type { RunningRequest } from '@tollgate/contracts';
import type { Delivered } from '@tollgate/protocols';
import type { ClientReply } from '../http/client-reply.ts';
import type { OpenHold } from '../journal/open-hold.ts';
import type { ObservedRequest } from '../observe/observed-request.ts';
import { Refusal } from '../refusals.ts';
import type { Candidate } from '../snapshot/routing-index.ts';
import type { Ticker } from '../upstream/ticker.ts';
import type { HoldHandle } from '../usage/usage-recorder.ts';
import type { Admitted } from './admission/admission.ts';
import type { AnswerMeter, BackgroundMaker, MeterContext } from './answers/answer-meter.ts';
import type { DrainLimits } from './answers/drain.ts';
import type { ReasoningRate } from './answers/reasoning-rates.ts';
import { keptAnswer } from './answers/kept-answer.ts';
import type { Splice } from './answers/splice.ts';
import type { Tally } from './answers/tally.ts';
import { tallyOf } from './answers/tally-of.ts';
import type { Delivery } from './delivery.ts';
import { meter } from './meter.ts';
import type { PipelineParts } from './pipeline-parts.ts';
import type { ClientRequest } from './request/client-request.ts';
import { CloserEstimate } from './request/closer-estimate.ts';
import type { Asked } from './request/parse.ts';
import { refusedAnswer } from './send-error.ts';
import { ATTEMPTS_SHOWN_MAX, type RouteAttempt } from './sending/attempt.ts';
import { upstreamHeaders } from './sending/upstream-headers.ts';

/** Answers the questions of a turn to its pipeline. */
export interface TurnHost {
  readonly parts: PipelineParts;
  /** The node stops: every answer ends now. */
  readonly isCut: boolean;
}

/** Is one model's turn at a request: the object from which delivery and meter read their request. */
export class Turn implements Delivery, MeterContext {
  readonly request: ClientRequest;
  readonly asked: Asked;
  readonly admitted: Admitted;
  readonly attempts: RouteAttempt[];
  /** Is the candidate whose answer was read last; null before any. */
  answeredBy: Candidate | null = null;
  /** Is true when no upstream answered. */
  isUndelivered = false;
  /** Is true when the request was ended by hand. */
  isEnded = false;
  /** Is set once the answer is made in the background. */
  run: OpenHold | null = null;
  readonly delivered: Delivered | null;
  readonly reasoning: ReasoningRate;
  readonly #host: TurnHost;
  #passing: AnswerMeter | null = null;

  /** Takes as `attempts` those at the models that were asked before. */
  constructor(
    host: TurnHost,
    { request, asked, admitted }: Pick<Turn, 'request' | 'asked' | 'admitted'>,
    attempts: RouteAttempt[] = [],
  ) {
    this.#host = host;
    this.request = request;
    this.asked = asked;
    this.admitted = admitted;
    this.attempts = attempts;
    this.delivered = keptAnswer(asked, {
      keptEvents: host.parts.keptEvents,
      accountId: admitted.accountId,
    });
    this.reasoning = host.parts.reasoning.of(asked.model.id);
  }

  /** Is made when it is first asked for. */
  get passing(): AnswerMeter {
    return (this.#passing ??= meter(this));
  }

  get rid(): string {
    return this.request.rid;
  }

  get clientHeaders(): IncomingHttpHeaders {
    return this.request.incoming.headers;
  }

  get observed(): ObservedRequest | null {
    return this.request.observed;
  }

  get reply(): ClientReply {
    return this.request.reply;
  }

  get receivedMonotonicMs(): number {
    return this.request.receivedMonotonicMs;
  }

  get hold(): HoldHandle {
    return this.admitted.hold;
  }

  get isStream(): boolean {
    return this.asked.ask.isStream;
  }

  get isBackground(): boolean {
    return this.asked.ask.isBackground;
  }

  get ticker(): Ticker {
    return this.#host.parts.ticker;
  }

  get keepAliveMs(): number {
    return this.#host.parts.limits.keepAliveMs;
  }

  get drain(): DrainLimits {
    return this.#host.parts.limits.drain;
  }

  get isOver(): boolean {
    return this.reply.isGone || this.#host.isCut || this.passing.stopReason !== null;
  }

  /** Ends it as if its client had left, so that it is charged what its upstream bills. The client learns why, where its answer has not begun. */
  end(): void {
    this.isEnded = true;
    const { rid, shape, reply } = this.request;
    const refused = refusedAnswer(new Refusal('request_ended'), { rid, shape });
    reply.addHeaders(refused.headers);
    reply.dismiss(refused.status, refused.body);
  }

  get running(): RunningRequest {
    const { admitted, asked, request, attempts } = this;
    return {
      account_id: admitted.accountId,
      key_id: admitted.keyId,
      model_id: asked.model.id,
      protocol: asked.ask.protocol,
      is_stream: this.isStream,
      upstream_id: attempts.at(-1)?.upstream_id ?? null,
      started_at: request.receivedAtMs,
      tokens: this.passing.costSoFar().output_tokens,
      is_ending: this.reply.isGone,
    };
  }

  onAnswer(by: Candidate): void {
    this.answeredBy = by;
    this.observed?.enter('answer');
    if (this.asked.model.failover?.names_upstream)
      this.reply.addHeaders(upstreamHeaders(this.asked.model, by));
  }

  createTally(splice: Splice | null): Tally {
    const { admitted, asked } = this;
    return tallyOf(asked.ask.prompt, { admitted, splice, closer: CloserEstimate.of(asked) });
  }

  onBackground(responseId: string, { upstreamId, credentialId }: BackgroundMaker): void {
    this.run = this.#host.parts.background.begin(this.hold, {
      ...{ responseId, upstreamId, credentialId },
      bounds: this.admitted.plan.bounds,
      attempts: this.attempts.slice(0, ATTEMPTS_SHOWN_MAX),
      traceparent: this.observed?.traceparentFor('completed'),
    });
  }
}
