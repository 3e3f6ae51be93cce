import type { AttemptCost, Outcome, TokenUsage } from '@tollgate/contracts';
import {
  upstreamError,
  type StreamReader,
  type StreamSink,
  type UpstreamError,
} from '@tollgate/protocols';
import { monotonicMs } from '../monotonic-ms.ts';
import type { Ticking } from '../upstream/ticker.ts';
import { gatewayFailure, UpstreamFailure } from '../upstream/upstream-failure.ts';
import type { AnswerMeter, MeterContext, Metered } from './answer-meter.ts';
import { Drain } from './drain.ts';
import type { Answer, Flight } from './forward.ts';
import { REVOKED, stopping } from './no-answer.ts';
import { Preamble } from './preamble.ts';
import { StreamCount } from './stream-count.ts';
import { failedOutcome, failureOf } from './stream-ending.ts';

type LastBytes = (charged: TokenUsage) => Uint8Array;
type StopReason = 'balance_exhausted' | 'access_revoked' | 'node_stopped';

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
  readonly #preamble = new Preamble();
  /** Bytes of this reader reached the client: from here on no other upstream can take over. */
  #isCommitted = false;
  /** The error event of an attempt that was to be replaced. */
  #untold: Uint8Array = NO_BYTES;
  #isOver = false;
  #isCounting = false;
  /** The client has left and the answer is read on for its usage. */
  readonly #drain = new Drain();
  /** The upstream is not read on while the client takes nothing, or the hold covers nothing. */
  #isBlocked = false;
  #isWaiting = false;
  #stopReason: StopReason | null = null;
  #rejectRead: ((failure: UpstreamFailure) => void) | null = null;
  #lastWriteAt: number;
  #firstTokenMs: number | null = null;

  constructor(context: MeterContext) {
    this.#context = context;
    this.#count = new StreamCount(context, () => this.#reader);
    this.#lastWriteAt = context.receivedMonotonicMs;
    context.ticker.add(this);
    context.reply.onGone(() => this.#clientLeft());
    context.hold.onStop((reason) => this.#stop(reason));
  }

  begin(): StreamSink {
    this.#count = new StreamCount(this.#context, () => this.#reader);
    this.#preamble.take();
    return this.#count.sink;
  }

  watch(flight: Flight): void {
    this.#flight = flight;
    this.#reader = flight.reader;
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
    const { reply } = this.#context;
    const cause = error instanceof UpstreamFailure ? error.error : upstreamError('server');
    // A reader that has read an error itself does not report it twice: its version of the error is sent now.
    const last = this.#reader?.fail(cause);
    reply.write(last?.byteLength ? last : this.#untold);
    reply.end();
  }

  left(error: unknown): Promise<Metered> {
    return this.#count.left(this.#flight, error);
  }

  cut(): void {
    if (this.#answer) this.#stop('node_stopped');
    else this.#flight?.abort('the node stops');
  }

  close(): void {
    this.#isOver = true;
    this.#drain.end();
    this.#context.ticker.remove(this);
  }

  tick(now: number): void {
    const { reply, keepAliveMs } = this.#context;
    if (reply.isGone) return;
    if (reply.isStalled(now)) return reply.cut();
    if (this.#isOver || !this.#reader || reply.isBlocked || now - this.#lastWriteAt < keepAliveMs)
      return;
    // The preamble waits on: the upstream may still be replaced unseen.
    reply.startStream();
    this.#write(this.#reader.keepAlive());
  }

  #data(chunk: Buffer): void {
    const reader = this.#reader;
    if (this.#isOver || !reader) return;
    const { bytes, rest } = this.#count.readCovered(reader, chunk);
    if (this.#firstTokenMs === null && reader.hasContent) {
      this.#firstTokenMs = monotonicMs() - this.#context.receivedMonotonicMs;
      this.#count.sawContent();
      this.#answer?.call.sawContent();
    }
    this.#pass(reader, bytes);
    if (this.#isDrained(reader)) return this.#leave();
    if (rest.length > 0 && this.#answer && !this.#isOver) this.#waitForRoom(this.#answer, rest);
  }

  #waitForRoom({ call }: Answer, rest: Buffer): void {
    this.#isWaiting = true;
    call.giveBack(rest);
    call.pause();
    this.#context.hold.grow(() => {
      this.#isWaiting = false;
      this.#readOn();
    });
  }

  #readOn(): void {
    if (!this.#isWaiting && !this.#isBlocked) this.#answer?.call.resume();
  }

  #upstreamEnded(): void {
    const reader = this.#reader;
    if (this.#isOver || !reader) return;
    this.#pass(reader, reader.end());
    if (!this.#isOver)
      this.#broke(gatewayFailure('server', 'The upstream ended its answer early.'));
  }

  /** Routes what the reader gave: on to the client, into the preamble, or back as a failure while the client has received nothing. */
  #pass(reader: StreamReader, bytes: Uint8Array): void {
    if (reader.state === 'failed' && !reader.hasContent && !this.#isCommitted) {
      this.#untold = bytes;
      return this.#replaceable(reader.error ?? upstreamError('server'), 'stated');
    }
    const isPreamble = !this.#isCommitted && !reader.hasContent && reader.state === 'running';
    if (isPreamble && this.#preamble.keep(bytes)) return;
    this.#commitPreamble();
    if (bytes.byteLength > 0) this.#isCommitted = true;
    if (reader.state === 'running') return this.#write(bytes);
    if (reader.state === 'failed') return this.#over(failedOutcome(reader), { last: () => bytes });
    this.#over('completed', { last: (usage) => Buffer.concat([bytes, reader.close(usage)]) });
  }

  #broke(failure: UpstreamFailure): void {
    const reader = this.#reader;
    if (this.#isOver || !reader) return;
    if (reader.hasFinish && reader.state === 'running') return this.#pass(reader, reader.end());
    if (!this.#isCommitted && !reader.hasContent)
      return this.#replaceable(failure.error, 'contentless');
    this.#commitPreamble();
    const last = reader.fail(failure.error);
    this.#over(failedOutcome(reader), { last: () => last, failure });
  }

  #replaceable(error: UpstreamError, evidence: 'stated' | 'contentless'): void {
    const failure = new UpstreamFailure(error, { evidence });
    this.#answer?.close(failure);
    this.#answer?.call.abort('the answer is of no use');
    this.#answer = null;
    this.#rejectRead?.(failure);
  }

  #stop(reason: StopReason): void {
    const reader = this.#reader;
    this.#stopReason = reason;
    if (this.#isOver || !reader) return;
    if (!this.#answer) return this.#flight?.abort('access has ended');
    this.#commitPreamble();
    if (reason === 'balance_exhausted')
      return this.#over(reason, { last: (usage) => reader.finishEarly(usage) });
    const last = reader.fail(reason === 'node_stopped' ? stopping().error : REVOKED);
    this.#over(reason, { last: () => last });
  }

  /** Closed at once where that ends the bill, and where nothing was sent; else read on, for what the provider bills is what the client pays. */
  #clientLeft(): void {
    if (this.#isOver || !this.#flight || this.#drain.isOn) return;
    if (!this.#flight.isSent() || this.#flight.stopsBillingOnClose()) return this.#leave();
    this.#startCounting();
    this.#count.beginDrain();
    this.#drain.begin(this.#context.drain.streamMs, () => this.#leave());
    this.#isBlocked = false;
    this.#readOn();
  }

  #startCounting(): void {
    if (!this.#isCounting) this.#context.hold.count(() => this.#count.soFar());
    this.#isCounting = true;
  }

  #leave(): void {
    if (this.#answer) this.#over('client_closed');
    else this.#flight?.abort('the client left');
  }

  /** What follows a finish is no more output, but the usage. */
  #isDrained({ hasFinish }: StreamReader): boolean {
    return this.#drain.isOn && !this.#isOver && !hasFinish && this.#count.isDrained;
  }

  /** `last`: what the client gets once its usage is counted and journalled; it gets the charge and may report it to the client. */
  #over(
    outcome: Outcome,
    {
      last = () => NO_BYTES,
      failure = null,
    }: { last?: LastBytes; failure?: UpstreamFailure | null } = {},
  ): void {
    if (this.#isOver) return;
    this.close();
    if (outcome === 'completed') this.#answer?.call.finish();
    else this.#answer?.call.abort(outcome);
    this.#answer?.close(failure ?? failureOf(outcome, this.#reader));
    this.#settled(outcome, last).then(
      (metered) => this.#metered.resolve(metered),
      this.#metered.reject,
    );
  }

  async #settled(outcome: Outcome, last: LastBytes): Promise<Metered> {
    const { reply } = this.#context;
    // A client that has left saw nothing of what came of its answer then.
    const isLeft = reply.isGone && outcome !== 'upstream_failed';
    const counted = await this.#count.atEnd(outcome);
    const sendEnd = (): void => {
      reply.write(last(counted.usage));
      reply.end();
    };
    return {
      outcome: isLeft ? 'client_closed' : outcome,
      counted,
      firstTokenMs: this.#firstTokenMs,
      status: reply.status,
      sendEnd,
    };
  }

  #commitPreamble(): void {
    this.#context.reply.startStream();
    for (const bytes of this.#preamble.take()) {
      this.#isCommitted = true;
      this.#write(bytes);
    }
  }

  #write(bytes: Uint8Array): void {
    const { reply } = this.#context;
    if (bytes.byteLength === 0) return;
    this.#lastWriteAt = monotonicMs();
    if (reply.write(bytes) || this.#isBlocked) return;
    this.#isBlocked = true;
    this.#answer?.call.pause();
    reply.onDrain(() => {
      this.#isBlocked = false;
      this.#readOn();
    });
  }
}

const NO_BYTES = new Uint8Array();
