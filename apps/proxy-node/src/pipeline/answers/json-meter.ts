import type { AttemptCost } from '@tollgate/contracts';
import { readArrived, withoutMark } from '@tollgate/protocols';
import type { Arrived, StreamSink } from '@tollgate/protocols';
import { monotonicMs } from '../../monotonic-ms.ts';
import type { BodyConsumer } from '../../upstream/upstream-call.ts';
import {
  AnswerTooLarge,
  gatewayFailure,
  UpstreamFailure,
} from '../../upstream/upstream-failure.ts';
import type { AnswerMeter, MeterContext, Metered } from './answer-meter.ts';
import { chargeOfLeft } from './charge-of-left.ts';
import { Drain } from './drain.ts';
import type { Answer, Flight } from '../sending/attempt.ts';
import { ChargedFailure } from './no-answer.ts';
import type { StopReason } from './stop-reason.ts';
import { NOT_COUNTED_YET, type Counted, type Tally } from './tally.ts';

/**
 * A whole JSON answer: read to its end, judged, then sent. Its hold covers its full bound, so there is nothing to count before. A client that leaves does
 * not end it: the provider bills the answer whether or not the client reads it, so it is read for its usage.
 */
export class JsonMeter implements AnswerMeter, BodyConsumer {
  readonly #context: MeterContext;
  readonly #tally: Tally;
  readonly #drain = new Drain();
  #flight: Flight | null = null;
  #askedAtMs = 0;
  #stopReason: StopReason | null = null;
  #answer: Answer | null = null;
  readonly #chunks: Buffer[] = [];
  #body: PromiseWithResolvers<Body> | null = null;

  constructor(context: MeterContext) {
    this.#context = context;
    this.#tally = context.createTally(null);
    context.reply.onGone(() => this.#clientLeft());
    context.hold.onStop((reason) => this.#stop(reason));
  }

  begin(): StreamSink {
    this.#askedAtMs = monotonicMs();
    return { output: () => undefined };
  }

  watch(flight: Flight): void {
    this.#flight = flight;
    if (this.#context.reply.isGone) this.#clientLeft();
  }

  async read(answer: Answer): Promise<Metered> {
    const { receivedMonotonicMs, reasoning } = this.#context;
    const firstTokenMs = monotonicMs() - receivedMonotonicMs;
    const { bytes, tooLarge } = await this.#bodyOf(answer);
    if (tooLarge) throw await this.#chargedFor(withoutMark(bytes), answer, tooLarge);
    const reading = answer.exchange.readJson(withoutMark(bytes));
    if (reading.kind === 'error') {
      const failure = new UpstreamFailure(reading.error, { evidence: 'stated' });
      answer.close(failure);
      throw failure;
    }
    answer.close(null);
    const context = this.#context;
    if (context.isBackground && reading.unfinished != null) {
      context.onBackground({ responseId: reading.unfinished, upstreamId: answer.upstreamId });
      context.hold.count(() => this.#tally.soFar({ usage: null, isFinal: false }));
      return this.#metered(reading.body, NOT_COUNTED_YET, firstTokenMs);
    }
    const counted = await this.#count(reading);
    if (counted.basis === 'reported')
      reasoning.observe({
        tokens: counted.usage.output - reading.outputText.length,
        silentMs: this.#silentMs,
      });
    return this.#metered(reading.body, counted, firstTokenMs);
  }

  /** The failure of an answer that is not read to its end: charged for what arrived, where that is an answer. */
  async #chargedFor(
    bytes: Uint8Array,
    answer: Answer,
    tooLarge: AnswerTooLarge,
  ): Promise<UpstreamFailure> {
    answer.close(tooLarge);
    const arrived = readArrived(answer.exchange, bytes);
    if (!arrived) return gatewayFailure('unreadable', tooLarge.message);
    return new ChargedFailure(tooLarge, await this.#count(arrived));
  }

  #count(answer: Arrived): Promise<Counted> {
    this.#tally.calledInAll(answer);
    this.#tally.output(answer.outputText);
    return this.#tally.atEnd(
      { usage: answer.usage, isFinal: true },
      0,
      (used) => this.#context.hold.room(used) >= 0,
    );
  }

  #metered(body: Uint8Array, counted: Counted, firstTokenMs: number): Metered {
    const { reply } = this.#context;
    return {
      outcome: reply.isGone ? 'client_closed' : 'completed',
      counted,
      firstTokenMs,
      status: reply.isGone ? reply.status : 200,
      sendEnd: () => reply.send(200, body),
    };
  }

  left(error: unknown): Promise<Metered> {
    const { reply, reasoning, hold } = this.#context;
    return chargeOfLeft({
      flight: this.#flight,
      error,
      tally: this.#tally,
      reply,
      hold,
      unseenTokens: reasoning.tokensIn(this.#silentMs),
    });
  }

  get stopReason(): StopReason | null {
    return this.#stopReason;
  }

  costSoFar(): AttemptCost {
    return this.#tally.costSoFar({ usage: null, isFinal: false });
  }

  fail(): void {
    this.#context.reply.cut();
  }

  cut(): void {
    this.#giveUp('the node stops');
  }

  close(): void {
    this.#drain.end();
    this.#flight = null;
  }

  get #silentMs(): number {
    return monotonicMs() - this.#askedAtMs;
  }

  #clientLeft(): void {
    const { hold, drain } = this.#context;
    if (!this.#flight || this.#drain.isOn) return;
    if (this.#stopReason || !this.#flight.isSent()) return this.#giveUp('the client disconnected');
    this.#drain.begin(drain.jsonMs, () => this.#giveUp('the client disconnected'));
    // From here on the answer is read only for its usage: a node that is killed meanwhile leaves the prompt in its journal.
    hold.count(() => this.#tally.soFar({ usage: null, isFinal: false }));
  }

  /** A client that is still there gets its answer; a disconnected client must not keep the upstream at work for a disabled key. */
  #stop(reason: StopReason): void {
    this.#stopReason = reason;
    if (this.#drain.isOn) this.#giveUp('access was withdrawn, or is not confirmed');
  }

  #giveUp(reason: string): void {
    this.#flight?.abort(reason);
    // An aborted call sends no further event to the reader of its body.
    if (this.#body) this.failed(gatewayFailure('overloaded', reason, { evidence: 'given_up' }));
  }

  #bodyOf(answer: Answer): Promise<Body> {
    this.#answer = answer;
    this.#chunks.length = 0;
    this.#body = Promise.withResolvers();
    answer.call.consume(this);
    return this.#body.promise;
  }

  data(chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  end(): void {
    this.#ended(null);
  }

  failed(failure: UpstreamFailure): void {
    if (failure instanceof AnswerTooLarge) return this.#ended(failure);
    this.#answer?.close(failure);
    this.#body?.reject(failure);
  }

  #ended(tooLarge: AnswerTooLarge | null): void {
    const [first = NO_BYTES, ...others] = this.#chunks;
    const bytes = others.length === 0 ? first : Buffer.concat(this.#chunks);
    this.#body?.resolve({ bytes, tooLarge });
  }
}

const NO_BYTES = Buffer.alloc(0);

/** The contents of an answer, as far as it was read. */
interface Body {
  readonly bytes: Buffer;
  readonly tooLarge: AnswerTooLarge | null;
}
