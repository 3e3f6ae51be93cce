import type { AttemptCost } from '@tollgate/contracts';
import { ContinuedReader } from '@tollgate/protocols';
import type { Delivered, StreamSink } from '@tollgate/protocols';
import { monotonicMs } from '../../monotonic-ms.ts';
import type { Ticking } from '../../upstream/ticker.ts';
import type { BodyConsumer } from '../../upstream/upstream-call.ts';
import { gatewayFailure, UpstreamFailure } from '../../upstream/upstream-failure.ts';
import {
  report,
  type AnswerMeter,
  type MeterContext,
  type Metered,
  type MeteredListener,
} from '../answers/answer-meter.ts';
import { CutAnswer } from '../answers/cut-answer.ts';
import { Drain } from '../answers/drain.ts';
import type { Answer, Flight } from '../sending/attempt.ts';
import type { Splice } from '../answers/splice.ts';
import { StreamCount } from './stream-count.ts';
import type { Load, StreamParts } from './stream-parts.ts';
import { StreamOutlet } from './stream-outlet.ts';
import { causeOf, endOfCut, endingOf, errorOf, failureOf, meteredEnd } from './stream-ending.ts';
import {
  startStream,
  type CutBy,
  type StreamAction,
  type StreamEnd,
  type StreamEvent,
  type StreamState,
} from './stream-state.ts';
import { streamStep } from './stream-step.ts';

const NO_BYTES = new Uint8Array();
const READ: StreamEvent = { kind: 'read' };
const TAKEN: StreamEvent = { kind: 'taken', hasRest: false };
const TAKEN_IN_PART: StreamEvent = { kind: 'taken', hasRest: true };
const NO_LOAD: Load = { bytes: NO_BYTES };

/**
 * Turns upstream bytes into client bytes and counts in between: `streamStep` decides, this class counts, reads and writes. Nothing is collected but the preamble: a
 * slow client pauses the upstream's parser, and so does a hold that is used up, until it has grown.
 */
export class StreamMeter implements AnswerMeter, BodyConsumer, Ticking {
  readonly #context: MeterContext;
  readonly #state: StreamState;
  readonly #parts: StreamParts;
  readonly #drain = new Drain();
  #flight: Flight | null = null;
  #answer: Answer | null = null;
  /** Is set while an attempt continues a cut answer. */
  #splice: Splice | null = null;
  /** Is null while no answer is read. */
  #listener: MeteredListener | null = null;
  /** Holds the error event of an attempt that was to be replaced. */
  #unsentError: Uint8Array = NO_BYTES;
  /** Holds the part of a chunk that the hold does not cover yet. */
  #rest: Buffer | null = null;
  #firstTokenMs: number | null = null;

  constructor(context: MeterContext) {
    this.#context = context;
    this.#state = startStream({ isBackground: context.isBackground });
    this.#parts = {
      reader: null,
      count: new StreamCount(context, () => this.#parts.reader),
      outlet: new StreamOutlet(context, {
        onBlocked: () => this.#answer?.call.pause(),
        onFree: () => this.#step({ kind: 'client_reads' }),
      }),
    };
    context.ticker.add(this);
    context.reply.onGone(() => this.#clientLeft());
    context.hold.onStop((reason) => this.#step({ kind: 'stop', reason }));
  }

  begin(): StreamSink {
    // The first attempt has the count of the constructor.
    if (this.#state.isAsked)
      this.#parts.count = new StreamCount(this.#context, () => this.#parts.reader, this.#splice);
    this.#parts.outlet.begin();
    this.#step({ kind: 'begun' });
    return this.#parts.count.sink;
  }

  watch(flight: Flight): void {
    this.#flight = flight;
    this.#parts.reader =
      flight.reader && this.#splice
        ? new ContinuedReader(flight.reader, this.#splice)
        : flight.reader;
    this.#step({ kind: 'asked' });
    if (this.#context.reply.isGone) this.#clientLeft();
  }

  read(answer: Answer, listener: MeteredListener): void {
    this.#answer = answer;
    this.#listener = listener;
    this.#step({ kind: 'answered' });
    if (this.#context.reply.isGone) this.#clientLeft();
    const { stopReason: reason } = this.#state;
    if (reason) this.#step({ kind: 'stop', reason });
    if (!this.#state.isOver) answer.call.consume(this);
  }

  get stopReason(): AnswerMeter['stopReason'] {
    return this.#state.stopReason;
  }

  costSoFar(): AttemptCost {
    return this.#parts.count.costSoFar();
  }

  costOfContinued(): AttemptCost | null {
    return this.#parts.count.costOfContinued();
  }

  fail(error: unknown): void {
    // A reader that has read an error itself does not report it twice: its version of the error is sent now.
    const last = this.#parts.reader?.fail(causeOf(error));
    this.#context.reply.endWith(last?.byteLength ? last : this.#unsentError);
  }

  left(error: unknown): Promise<Metered> {
    return this.#parts.count.left(this.#flight, error);
  }

  cut(): void {
    this.#step({ kind: 'stop', reason: 'node_stopped' });
  }

  close(): void {
    this.#step({ kind: 'closed' });
    this.#drain.end();
    this.#context.ticker.remove(this);
  }

  tick(now: number): void {
    this.#parts.outlet.tick(now, this.#state.isOver ? null : this.#parts.reader);
  }

  data(chunk: Buffer): void {
    const { reader, count } = this.#parts;
    if (this.#state.isOver || !reader) return;
    const covered = count.readCovered(reader, chunk);
    this.#step(READ, covered);
    const hasRest = covered.rest.length > 0;
    // For any other chunk nothing follows.
    if (!hasRest && !this.#state.isDraining) return;
    this.#rest = covered.rest;
    this.#step(hasRest ? TAKEN_IN_PART : TAKEN);
  }

  end(): void {
    this.#step({ kind: 'upstream_ended' });
    if (this.#state.isOver) return;
    const failure = gatewayFailure('server', 'The upstream ended its answer early.');
    this.#step({ kind: 'ended_early' }, { bytes: NO_BYTES, failure });
  }

  failed(failure: UpstreamFailure): void {
    this.#step({ kind: 'broke' }, { bytes: NO_BYTES, failure });
  }

  #clientLeft(): void {
    this.#step({
      kind: 'client_left',
      isSent: this.#flight?.isSent() ?? false,
      stopsBillingOnClose: this.#flight?.stopsBillingOnClose() ?? false,
    });
  }

  #step(event: StreamEvent, load: Load = NO_LOAD): void {
    for (const action of streamStep(this.#state, event, this.#parts)) this.#act(action, load);
  }

  #act(action: StreamAction, load: Load): void {
    const { bytes } = load;
    switch (action.kind) {
      case 'write':
        this.#parts.outlet.commitPreamble();
        return this.#parts.outlet.write(bytes);
      case 'keep_back':
        if (!this.#parts.outlet.keepBack(bytes)) this.#step({ kind: 'preamble_full' }, load);
        return;
      case 'commit':
        return this.#parts.outlet.commitPreamble();
      case 'count':
        return this.#context.hold.count(() => this.#parts.count.soFar());
      case 'note_content':
        return this.#noteContent();
      case 'note_background':
        return this.#noteBackground();
      case 'flush_reader':
        return this.#flushReader();
      case 'wait_for_hold':
        return this.#waitForHold();
      case 'resume':
        return this.#answer?.call.resume();
      case 'drain':
        return this.#beginDrain();
      case 'abort_attempt':
        return this.#flight?.abort(action.why);
      case 'try_to_cut':
        return this.#tryToCut(action.by, load);
      case 'hand_over':
        return this.#reject(this.#cutAnswer(load));
      case 'reject':
        return this.#rejectAttempt(action.evidence, load);
      case 'end':
        return this.#end(action, load);
      default:
        action satisfies never;
    }
  }

  #noteContent(): void {
    this.#firstTokenMs ??= monotonicMs() - this.#context.receivedMonotonicMs;
    this.#parts.count.sawContent();
    this.#answer?.call.sawContent();
  }

  #noteBackground(): void {
    const responseId = this.#parts.reader?.backgroundId;
    if (responseId == null || !this.#answer) return;
    this.#context.onBackground(responseId, this.#answer);
    this.#parts.outlet.commitPreamble();
  }

  #flushReader(): void {
    const bytes = this.#parts.reader?.end();
    if (bytes) this.#step({ kind: 'flushed' }, { bytes });
  }

  #waitForHold(): void {
    if (!this.#answer || !this.#rest) return;
    this.#answer.call.giveBack(this.#rest);
    this.#answer.call.pause();
    this.#context.hold.grow(() => this.#step({ kind: 'hold_grown' }));
  }

  #beginDrain(): void {
    this.#parts.count.beginDrain();
    this.#drain.begin(this.#context.drain.streamMs, () => this.#step({ kind: 'drain_over' }));
    this.#parts.outlet.free();
  }

  #rejectAttempt(evidence: 'stated' | 'contentless', { bytes, failure }: Load): void {
    if (evidence === 'stated') this.#unsentError = bytes;
    this.#reject(new UpstreamFailure(errorOf(failure, this.#parts.reader), { evidence }));
  }

  #reject(failure: UpstreamFailure): void {
    this.#answer?.close(failure);
    this.#answer?.call.abort('the answer is of no use');
    this.#answer = null;
    this.#take()?.failed(failure);
  }

  /** If another upstream may continue the answer, the client has `bytes` without its error event, and `read` throws CutAnswer. */
  #tryToCut(by: CutBy, load: Load): void {
    const isContinued = this.#parts.outlet.writeCut(load.bytes);
    this.#step({ kind: 'cut', by, isContinued }, load);
  }

  #cutAnswer({ failure }: Load): CutAnswer {
    return new CutAnswer(errorOf(failure, this.#parts.reader), {
      delivered: this.#context.delivered as Delivered,
      counted: this.#parts.count.atEnd('upstream_interrupted'),
      isRefused: this.#parts.reader?.isRefused ?? false,
      resume: (splice) => (this.#splice = splice),
      end: (counted, error) => {
        this.close();
        const { reader } = this.#parts;
        const standing = { reader, ...this.#state, firstTokenMs: this.#firstTokenMs };
        return endOfCut(this.#context, standing, { counted, error });
      },
    });
  }

  #end({ outcome, closing }: StreamEnd, load: Load): void {
    const { reader } = this.#parts;
    const { stopReason } = this.#state;
    const { failure = null, ...ending } = endingOf(closing, { ...load, reader, stopReason });
    this.close();
    if (closing === 'finished') this.#answer?.call.finish();
    else this.#answer?.call.abort(closing);
    this.#answer?.close(failure ?? failureOf(outcome, reader));
    const { reply } = this.#context;
    report(this.#parts.count.atEnd(outcome), this.#take(), (counted) =>
      meteredEnd(reply, { outcome, counted, firstTokenMs: this.#firstTokenMs, ...ending }),
    );
  }

  /** Returns the listener once, because each answer is reported once. */
  #take(): MeteredListener | null {
    const listener = this.#listener;
    this.#listener = null;
    return listener;
  }
}
