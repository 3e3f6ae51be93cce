import type { AttemptCost } from '@tollgate/contracts';
import { readArrived, withoutMark } from '@tollgate/protocols';
import type { Arrived, JsonReading, StreamSink } from '@tollgate/protocols';
import { monotonicMs } from '../../monotonic-ms.ts';
import type { BodyConsumer } from '../../upstream/upstream-call.ts';
import {
  AnswerTooLarge,
  gatewayFailure,
  UpstreamFailure,
} from '../../upstream/upstream-failure.ts';
import {
  report,
  type AnswerMeter,
  type MeterContext,
  type Metered,
  type MeteredListener,
} from './answer-meter.ts';
import { chargeOfLeft } from './charge-of-left.ts';
import { Drain } from './drain.ts';
import type { Answer, Flight } from '../sending/attempt.ts';
import { ChargedFailure } from './no-answer.ts';
import type { StopReason } from './stop-reason.ts';
import { NOT_COUNTED_YET, type Counted } from './counted.ts';
import type { Tally } from './tally.ts';

/** Meters a whole JSON answer: reads it to its end, judges it, then sends it. Its hold covers its full bound, so there is nothing to count before. A client that leaves does not end it: the provider bills the answer whether or not the client reads it, so it is read for its usage. */
export class JsonMeter implements AnswerMeter, BodyConsumer {
  readonly #context: MeterContext;
  readonly #tally: Tally;
  readonly #drain = new Drain();
  #flight: Flight | null = null;
  #askedAtMs = 0;
  #stopReason: StopReason | null = null;
  #answer: Answer | null = null;
  #first: Buffer = NO_BYTES;
  #further: Buffer[] | null = null;
  /** Is null while no answer is read. */
  #listener: MeteredListener | null = null;
  #firstTokenMs = 0;

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

  read(answer: Answer, listener: MeteredListener): void {
    this.#answer = answer;
    this.#listener = listener;
    this.#first = NO_BYTES;
    this.#further = null;
    this.#firstTokenMs = monotonicMs() - this.#context.receivedMonotonicMs;
    answer.call.consume(this);
  }

  data(chunk: Buffer): void {
    if (this.#first.length === 0) this.#first = chunk;
    else (this.#further ??= [this.#first]).push(chunk);
  }

  end(): void {
    const listener = this.#take();
    const answer = this.#answer as Answer;
    try {
      const reading = answer.exchange.readJson(this.#body);
      if (reading.kind === 'answer') return this.#answered(reading, answer, listener);
      const failure = new UpstreamFailure(reading.error, { evidence: 'stated' });
      answer.close(failure);
      listener?.failed(failure);
    } catch (error) {
      listener?.failed(error);
    }
  }

  failed(failure: UpstreamFailure): void {
    const listener = this.#take();
    const failed = (error: unknown): void => listener?.failed(error);
    if (failure instanceof AnswerTooLarge)
      return void this.#chargedFor(failure).then(failed, failed);
    this.#answer?.close(failure);
    failed(failure);
  }

  #answered(reading: Whole, answer: Answer, listener: MeteredListener | null): void {
    const { isBackground, hold } = this.#context;
    answer.call.sawContent();
    answer.close(null);
    if (isBackground && reading.unfinished != null) {
      this.#context.onBackground(reading.unfinished, answer);
      hold.count(() => this.#tally.soFar({ usage: null, isFinal: false }));
      return listener?.metered(this.#metered(reading.body, NOT_COUNTED_YET));
    }
    report(this.#count(reading), listener, (counted) => this.#counted(reading, counted));
  }

  #counted({ outputText, body }: Whole, counted: Counted): Metered {
    if (counted.basis === 'reported')
      this.#context.reasoning.observe({
        tokens: counted.usage.output - outputText.length,
        silentMs: this.#silentMs,
      });
    return this.#metered(body, counted);
  }

  /** Each answer is reported once, and nothing that comes after its end changes what it was. */
  #take(): MeteredListener | null {
    const listener = this.#listener;
    this.#listener = null;
    return listener;
  }

  get #body(): Uint8Array {
    return withoutMark(this.#further ? Buffer.concat(this.#further) : this.#first);
  }

  /** Returns the failure of an answer that is not read to its end: it is charged for what arrived, where that is an answer. */
  async #chargedFor(tooLarge: AnswerTooLarge): Promise<UpstreamFailure> {
    const answer = this.#answer as Answer;
    answer.close(tooLarge);
    const arrived = readArrived(answer.exchange, this.#body);
    if (!arrived) return gatewayFailure('unreadable', tooLarge.message);
    return new ChargedFailure(tooLarge, await this.#count(arrived));
  }

  #count(answer: Arrived): Counted | Promise<Counted> {
    this.#tally.calledInAll(answer);
    this.#tally.output(answer.outputText);
    return this.#tally.atEnd(
      { usage: answer.usage, isFinal: true },
      0,
      (used) => this.#context.hold.room(used) >= 0,
    );
  }

  #metered(body: Uint8Array, counted: Counted): Metered {
    const { reply } = this.#context;
    return {
      outcome: reply.isGone ? 'client_closed' : 'completed',
      counted,
      firstTokenMs: this.#firstTokenMs,
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

  costOfContinued(): AttemptCost {
    return this.costSoFar();
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
    if (this.#listener) this.failed(gatewayFailure('overloaded', reason, { evidence: 'given_up' }));
  }
}

const NO_BYTES = Buffer.alloc(0);

type Whole = Extract<JsonReading, { kind: 'answer' }>;
