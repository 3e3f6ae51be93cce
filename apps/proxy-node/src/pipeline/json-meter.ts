import type { AttemptCost } from '@tollgate/contracts';
import { withoutMark } from '@tollgate/protocols';
import type { StreamSink } from '@tollgate/protocols';
import { monotonicMs } from '../monotonic-ms.ts';
import { gatewayFailure, UpstreamFailure } from '../upstream/upstream-failure.ts';
import type { AnswerMeter, MeterContext, Metered } from './answer-meter.ts';
import { chargeOfLeft } from './charge-of-left.ts';
import { Drain } from './drain.ts';
import type { Answer, Flight } from './forward.ts';
import type { StopReason } from './stop-reason.ts';
import { NOT_COUNTED_YET, type Counted, type Tally } from './tally.ts';

/**
 * A whole JSON answer: read to its end, judged, then sent. Its hold covers its full bound, so there is nothing to count before. A client that leaves does
 * not end it: the provider bills the answer whether or not the client reads it, so it is read for its usage.
 */
export class JsonMeter implements AnswerMeter {
  readonly #context: MeterContext;
  readonly #tally: Tally;
  readonly #drain = new Drain();
  #flight: Flight | null = null;
  #askedAtMs = 0;
  #stopReason: StopReason | null = null;
  #rejectBody: ((failure: UpstreamFailure) => void) | null = null;

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
    const reading = answer.exchange.readJson(withoutMark(await this.#body(answer)));
    if (reading.kind === 'error') {
      const failure = new UpstreamFailure(reading.error, { evidence: 'stated' });
      answer.close(failure);
      throw failure;
    }
    answer.close(null);
    const { onBackground, hold } = this.#context;
    if (onBackground && reading.unfinished != null) {
      onBackground({ responseId: reading.unfinished, upstreamId: answer.upstreamId });
      hold.count(() => this.#tally.soFar({ usage: null, isFinal: false }));
      return this.#metered(reading.body, NOT_COUNTED_YET, firstTokenMs);
    }
    this.#tally.calledInAll(reading);
    this.#tally.output(reading.outputText);
    const counted = await this.#tally.atEnd(
      { usage: reading.usage, isFinal: true },
      0,
      (usage) => this.#context.hold.room(usage) >= 0,
    );
    if (counted.basis === 'reported')
      reasoning.observe({
        tokens: counted.usage.output - reading.outputText.length,
        silentMs: this.#silentMs,
      });
    return this.#metered(reading.body, counted, firstTokenMs);
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
    const { reply, reasoning } = this.#context;
    return chargeOfLeft({
      flight: this.#flight,
      error,
      tally: this.#tally,
      reply,
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
    this.#rejectBody?.(gatewayFailure('overloaded', reason, { evidence: 'given_up' }));
  }

  #body(answer: Answer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#rejectBody = (failure) => {
        answer.close(failure);
        reject(failure);
      };
      const chunks: Buffer[] = [];
      answer.call.consume({
        data: (chunk) => void chunks.push(chunk),
        end: () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)),
        failed: this.#rejectBody,
      });
    });
  }
}
