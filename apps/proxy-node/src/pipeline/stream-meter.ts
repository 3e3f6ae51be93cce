import type { AttemptCost, Outcome } from '@tollgate/contracts';
import { ContinuedReader, upstreamError } from '@tollgate/protocols';
import type { Delivered, StreamReader, StreamSink, UpstreamError } from '@tollgate/protocols';
import { monotonicMs } from '../monotonic-ms.ts';
import type { Ticking } from '../upstream/ticker.ts';
import { gatewayFailure, UpstreamFailure } from '../upstream/upstream-failure.ts';
import type { AnswerMeter, MeterContext, Metered } from './answer-meter.ts';
import { CutAnswer } from './cut-answer.ts';
import { Drain } from './drain.ts';
import type { Answer, Flight } from './forward.ts';
import { REVOKED } from './no-answer.ts';
import type { Splice } from './splice.ts';
import { StreamCount } from './stream-count.ts';
import { StreamOutlet } from './stream-outlet.ts';
import {
  causeOf,
  endOfCut,
  failedOutcome,
  failureOf,
  meteredEnd,
  stopError,
  type Ending,
  type Standing,
  type StopReason,
} from './stream-ending.ts';

/**
 * Upstream bytes in, client bytes out, counted in between. Nothing is collected but the preamble: a slow client pauses the upstream's parser, and so
 * does a hold that is used up, until it has grown.
 */
export class StreamMeter implements AnswerMeter, Ticking {
  readonly #context: MeterContext;
  readonly #metered = Promise.withResolvers<Metered>();
  #count: StreamCount;
  #flight: Flight | null = null;
  #answer: Answer | null = null;
  #reader: StreamReader | null = null;
  readonly #outlet: StreamOutlet;
  /** The error event of an attempt that was to be replaced. */
  #untold: Uint8Array = NO_BYTES;
  #isOver = false;
  #isCounting = false;
  /** The client has left and the answer is read on for its usage. */
  readonly #drain = new Drain();
  /** The upstream is not read on while the client takes nothing, or the hold covers nothing. */
  #isWaiting = false;
  #stopReason: StopReason | null = null;
  #rejectRead: ((failure: UpstreamFailure) => void) | null = null;
  #firstTokenMs: number | null = null;
  /** Of this attempt. */
  #isContentSeen = false;
  /** Its upstream has named an answer that it makes in the background. */
  #hasBegun = false;
  /** Set while an attempt continues a cut answer. */
  #splice: Splice | null = null;

  constructor(context: MeterContext) {
    this.#context = context;
    this.#count = new StreamCount(context, () => this.#reader);
    this.#outlet = new StreamOutlet(context, {
      onBlocked: () => this.#answer?.call.pause(),
      onFree: () => this.#readOn(),
    });
    context.ticker.add(this);
    context.reply.onGone(() => this.#clientLeft());
    context.hold.onStop((reason) => this.#stop(reason));
  }

  begin(): StreamSink {
    this.#count = new StreamCount(this.#context, () => this.#reader, this.#splice);
    this.#isContentSeen = false;
    this.#outlet.begin();
    return this.#count.sink;
  }

  watch(flight: Flight): void {
    this.#flight = flight;
    this.#reader =
      flight.reader && this.#splice
        ? new ContinuedReader(flight.reader, this.#splice)
        : flight.reader;
    if (this.#context.reply.isGone) this.#clientLeft();
  }

  read(answer: Answer): Promise<Metered> {
    this.#answer = answer;
    this.#startCounting();
    return new Promise((resolve, reject) => {
      this.#rejectRead = reject;
      this.#metered.promise.then(resolve, reject);
      // All of a short answer may be here already: consuming it settles this promise at once.
      if (this.#context.reply.isGone) this.#clientLeft();
      if (this.#stopReason) this.#stop(this.#stopReason);
      if (!this.#isOver)
        answer.call.consume({
          data: (chunk) => this.#data(chunk),
          end: () => this.#upstreamEnded(),
          failed: (failure) => this.#broke(failure),
        });
    });
  }

  get isStopped(): boolean {
    return this.#stopReason !== null;
  }

  costSoFar(): AttemptCost {
    return this.#count.costSoFar();
  }

  fail(error: unknown): void {
    // A reader that has read an error itself does not report it twice: its version of the error is sent now.
    const last = this.#reader?.fail(causeOf(error));
    this.#context.reply.endWith(last?.byteLength ? last : this.#untold);
  }

  left(error: unknown): Promise<Metered> {
    return this.#count.left(this.#flight, error);
  }

  cut(): void {
    this.#stop('node_stopped');
  }

  close(): void {
    this.#isOver = true;
    this.#drain.end();
    this.#context.ticker.remove(this);
  }

  tick(now: number): void {
    this.#outlet.tick(now, this.#isOver ? null : this.#reader);
  }

  #data(chunk: Buffer): void {
    const reader = this.#reader;
    if (this.#isOver || !reader) return;
    const { bytes, rest } = this.#count.readCovered(reader, chunk);
    if (!this.#isContentSeen && reader.hasContent) {
      this.#isContentSeen = true;
      this.#firstTokenMs ??= monotonicMs() - this.#context.receivedMonotonicMs;
      this.#count.sawContent();
      this.#answer?.call.sawContent();
    }
    this.#pass(reader, bytes);
    if (this.#isDrained(reader)) return this.#leave();
    if (rest.length > 0 && this.#answer && !this.#isOver) this.#waitForRoom(this.#answer, rest);
  }

  /** Its answer goes on without this stream, and without this client: no other upstream is asked for it. */
  #noteBackground({ backgroundId }: StreamReader): void {
    const { onBackground } = this.#context;
    if (!onBackground || backgroundId == null || this.#hasBegun || !this.#answer) return;
    this.#hasBegun = true;
    onBackground({ responseId: backgroundId, upstreamId: this.#answer.upstreamId });
    this.#outlet.commitPreamble();
  }

  #waitForRoom({ call }: Answer, rest: Buffer): void {
    this.#isWaiting = true;
    call.giveBack(rest);
    call.pause();
    this.#context.hold.grow(() => ((this.#isWaiting = false), this.#readOn()));
  }

  #readOn(): void {
    if (!this.#isWaiting && !this.#outlet.isBlocked) this.#answer?.call.resume();
  }

  #upstreamEnded(): void {
    const reader = this.#reader;
    if (this.#isOver || !reader) return;
    if (!this.#hasBegun || reader.hasFinish) this.#pass(reader, reader.end());
    if (!this.#isOver && this.#answer)
      this.#broke(gatewayFailure('server', 'The upstream ended its answer early.'));
  }

  /** Routes what the reader gave: on to the client, into the preamble, or back as a failure while the client has received nothing. */
  #pass(reader: StreamReader, bytes: Uint8Array): void {
    this.#noteBackground(reader);
    const error = reader.state === 'failed' ? (reader.error ?? upstreamError('server')) : null;
    if (error && !this.#isSpokenFor(reader)) {
      this.#untold = bytes;
      return this.#reject(new UpstreamFailure(error, { evidence: 'stated' }));
    }
    if (error && this.#cutShort(bytes, error)) return;
    const isPreamble = !this.#hasBegun && !reader.hasContent && reader.state === 'running';
    if (isPreamble && this.#outlet.keepBack(bytes)) return;
    this.#outlet.commitPreamble();
    if (reader.state === 'running') return this.#outlet.write(bytes);
    if (error) return this.#over(failedOutcome(reader), { last: () => bytes });
    this.#over('completed', { last: (usage) => Buffer.concat([bytes, reader.close(usage)]) });
  }

  #broke(failure: UpstreamFailure): void {
    const reader = this.#reader;
    if (this.#isOver || !reader) return;
    if (reader.hasFinish && reader.state === 'running') return this.#pass(reader, reader.end());
    if (!this.#isSpokenFor(reader))
      return this.#reject(new UpstreamFailure(failure.error, { evidence: 'contentless' }));
    if (this.#cutShort(NO_BYTES, failure.error)) return;
    if (this.#hasBegun) return this.#over(failedOutcome(reader), { isSevered: true, failure });
    this.#outlet.commitPreamble();
    const last = reader.fail(failure.error);
    this.#over(failedOutcome(reader), { last: () => last, failure });
  }

  /** The client has something of an answer, or its upstream goes on making it: no other upstream is asked. */
  #isSpokenFor({ hasContent }: StreamReader): boolean {
    return this.#hasBegun || hasContent || this.#outlet.isCommitted;
  }

  #reject(failure: UpstreamFailure): void {
    this.#answer?.close(failure);
    this.#answer?.call.abort('the answer is of no use');
    this.#answer = null;
    this.#rejectRead?.(failure);
  }

  /** Whether another upstream may continue the answer: then `read` throws CutAnswer, and the client has `bytes` without its error event. */
  #cutShort(bytes: Uint8Array, error: UpstreamError): boolean {
    if (this.#stopReason || !this.#outlet.writeCut(bytes)) return false;
    this.#reject(
      new CutAnswer(error, {
        delivered: this.#context.delivered as Delivered,
        counted: this.#count.atEnd('upstream_interrupted'),
        resume: (splice) => (this.#splice = splice),
        end: (counted, last) => (
          this.close(),
          endOfCut(this.#context, this.#standing, { counted, error: last })
        ),
      }),
    );
    return true;
  }

  get #standing(): Standing {
    return { reader: this.#reader, stopReason: this.#stopReason, firstTokenMs: this.#firstTokenMs };
  }

  #stop(reason: StopReason): void {
    const reader = this.#reader;
    this.#stopReason = reason;
    if (this.#isOver || !reader) return;
    if (!this.#answer) return this.#flight?.abort('access has ended');
    this.#outlet.commitPreamble();
    if (reason === 'balance_exhausted')
      return this.#over(reason, { last: (usage) => reader.finishEarly(usage) });
    if (this.#hasBegun && reason === 'node_stopped') return this.#over(reason, { isSevered: true });
    const last = reader.fail(stopError(reason) ?? REVOKED);
    this.#over(reason, { last: () => last });
  }

  /** Closed at once where that ends the bill, and where nothing was sent; else read on, for what the provider bills is what the client pays. */
  #clientLeft(): void {
    if (this.#isOver || !this.#flight || this.#drain.isOn) return;
    const isLeft = this.#context.onBackground ? this.#hasBegun : this.#flight.stopsBillingOnClose();
    if (!this.#flight.isSent() || isLeft) return this.#leave();
    this.#startCounting();
    this.#count.beginDrain();
    this.#drain.begin(this.#context.drain.streamMs, () => this.#leave());
    this.#outlet.free();
  }

  #startCounting(): void {
    if (!this.#isCounting) this.#context.hold.count(() => this.#count.soFar());
    this.#isCounting = true;
  }

  #leave(): void {
    if (this.#answer) return this.#over('client_closed');
    this.#flight?.abort('the client left');
  }

  /** What follows a finish is no more output, but the usage. What is made in the background needs no reader. */
  #isDrained({ hasFinish }: StreamReader): boolean {
    if (!this.#drain.isOn || this.#isOver) return false;
    return this.#hasBegun || (!hasFinish && this.#count.isDrained);
  }

  #over(outcome: Outcome, { failure = null, ...ending }: Ending = {}): void {
    if (this.#isOver) return;
    this.close();
    if (outcome === 'completed') this.#answer?.call.finish();
    else this.#answer?.call.abort(outcome);
    this.#answer?.close(failure ?? failureOf(outcome, this.#reader));
    const firstTokenMs = this.#firstTokenMs;
    this.#count
      .atEnd(outcome)
      .then((counted) =>
        meteredEnd(this.#context.reply, { outcome, counted, firstTokenMs, ...ending }),
      )
      .then(this.#metered.resolve, this.#metered.reject);
  }
}

const NO_BYTES = new Uint8Array();
