import {
  outcomeRow,
  withMoreOutput,
  type AttemptCost,
  type Outcome,
  type TokenUsage,
} from '@tollgate/contracts';
import { countTokens } from '@tollgate/metering/token-counter';
import type { StreamReader, StreamSink } from '@tollgate/protocols';
import { monotonicMs } from '../../monotonic-ms.ts';
import type { MeterContext, Metered } from '../answers/answer-meter.ts';
import { chargeOfLeft } from '../answers/charge-of-left.ts';
import type { Splice } from '../answers/splice.ts';
import type { Flight } from '../sending/attempt.ts';
import { HoldBudget } from './hold-budget.ts';
import { OutputCeiling } from '../answers/output-ceiling.ts';
import { NOTHING_COUNTED, type Counted } from '../answers/counted.ts';
import type { Tally } from '../answers/tally.ts';

const NO_REST = Buffer.alloc(0);

/** Counts one attempt of a stream: the generated tokens, the part that its hold still covers, and the charge at its end. */
export class StreamCount {
  readonly #tally: Tally;
  readonly #splice: Splice | null;
  readonly sink: StreamSink;
  readonly #context: MeterContext;
  readonly #reader: () => StreamReader | null;
  readonly #budget: HoldBudget;
  /** Is null for an answer that is made in the background: it ends with no stream. */
  readonly #ceiling: OutputCeiling | null;
  readonly #askedAtMs = monotonicMs();
  #contentAtMs: number | null = null;
  #drainedFromTokens = 0;

  /** Takes the `reader` of this attempt, once there is one, and the `splice` where it continues an answer, whose earlier usage then counts too. */
  constructor(
    context: MeterContext,
    reader: () => StreamReader | null,
    splice: Splice | null = null,
  ) {
    this.#context = context;
    this.#reader = reader;
    this.#splice = splice;
    this.#tally = context.createTally(splice);
    this.#budget = new HoldBudget({
      hold: context.hold,
      usage: () => this.#whole(this.#tally.ifEnded(this.#reported())),
      reported: reader,
    });
    this.#ceiling = context.isBackground
      ? null
      : new OutputCeiling({
          limit: this.#tally.outputLimit,
          shownTokens: () => this.#tally.shownTokens,
          hiddenTokens: () => this.#tally.hiddenTokens,
          reported: reader,
        });
    this.sink = {
      output: (text, isShown) => this.#generated(text, isShown),
      call: () => this.#tally.called(),
    };
  }

  /** Splits a chunk into the part that reaches the client and the part that must wait until the hold has grown. */
  readCovered(reader: StreamReader, chunk: Buffer): { bytes: Uint8Array; rest: Buffer } {
    this.#context.hold.more();
    let taken = this.#take(chunk.length);
    if (taken === chunk.length) return { bytes: reader.push(chunk), rest: NO_REST };
    const parts: Uint8Array[] = [];
    let rest = chunk;
    for (; taken > 0; taken = rest.length > 0 ? this.#take(rest.length) : 0) {
      parts.push(reader.push(rest.subarray(0, taken)));
      rest = rest.subarray(taken);
    }
    return { bytes: Buffer.concat(parts), rest };
  }

  /** The upstream ignores its limit: the answer ends here. */
  get isBeyondLimit(): boolean {
    return this.#ceiling?.isPassed() ?? false;
  }

  /** Returns the possible cost of an attempt without an answer for the installation. */
  costSoFar(): AttemptCost {
    return this.#tally.costSoFar(this.#reported());
  }

  costOfContinued(): AttemptCost | null {
    const { isWithheld = false, overlap = '' } = this.#reader() ?? {};
    const cost = this.costSoFar();
    if (this.#isWholeAnswer) return null;
    return isWithheld ? cost : { ...cost, output_tokens: countTokens(overlap) };
  }

  soFar(): TokenUsage {
    const usage = this.#tally.soFar(this.#reported());
    if (this.#tally.isCountingPrompt) this.#context.hold.more();
    return this.#delivered(usage);
  }

  sawContent(): void {
    this.#contentAtMs ??= monotonicMs();
  }

  /** The client has left: what comes now is counted for the drain. */
  beginDrain(): void {
    this.#drainedFromTokens = this.#tally.outputTokens;
  }

  get isDrained(): boolean {
    return this.#tally.outputTokens - this.#drainedFromTokens >= this.#context.drain.streamTokens;
  }

  /** The client left, and the attempt ended with this error before there was an answer. */
  left(flight: Flight | null, error: unknown): Promise<Metered> {
    const { reply, hold } = this.#context;
    const unseenTokens = this.#unseenTokens;
    return chargeOfLeft({ flight, error, tally: this.#tally, reply, hold, unseenTokens });
  }

  atEnd(outcome: Outcome): Counted | Promise<Counted> {
    if (outcome === 'upstream_failed') return NOTHING_COUNTED;
    const counting = this.#tally.atEnd(
      this.#reported(),
      this.#isUnseenCharged(outcome) ? this.#unseenTokens : 0,
      (usage) => this.#context.hold.room(usage) >= 0,
    );
    return counting instanceof Promise
      ? counting.then((counted) => this.#ended(counted, outcome))
      : this.#ended(counting, outcome);
  }

  #ended(counted: Counted, outcome: Outcome): Counted {
    if (this.#ceiling?.isPassed()) counted.doubt ??= 'output_beyond_limit';
    // The first piece has no report of its own.
    if (this.#splice && !this.#isWholeAnswer)
      return { ...counted, usage: this.#delivered(counted.usage), basis: 'estimated' };
    if (outcome === 'completed' && counted.basis === 'reported')
      this.#context.reasoning.observe({
        tokens: counted.usage.output - this.#tally.outputChars,
        silentMs: this.#silentMs,
      });
    return counted;
  }

  /** Returns true if the caller pays for output that was not shown. */
  #isUnseenCharged(outcome: Outcome): boolean {
    const { chargesUnseen } = outcomeRow(outcome);
    return chargesUnseen === 'when_gone' ? this.#context.reply.isGone : chargesUnseen === 'always';
  }

  /** Estimates the tokens generated without being shown, as the model usually does in this time. */
  get #unseenTokens(): number {
    return this.#context.reasoning.tokensIn(this.#silentMs);
  }

  get #silentMs(): number {
    return (this.#contentAtMs ?? monotonicMs()) - this.#askedAtMs;
  }

  /** The customer pays the prompt of the first piece, and the output of both. */
  #whole(usage: TokenUsage): TokenUsage {
    return this.#splice && !this.#splice.isWhole
      ? withMoreOutput(this.#splice.charged, usage)
      : usage;
  }

  /** The client has the attempt's answer as a whole, some of it since before the cut. */
  get #isWholeAnswer(): boolean {
    return (this.#splice?.isWhole ?? false) && !this.#reader()?.isWithheld;
  }

  /** Returns the usage of `#whole` without what was generated and not delivered. */
  #delivered(usage: TokenUsage): TokenUsage {
    if (!this.#splice || this.#isWholeAnswer) return usage;
    const { isWithheld = false, overlap = '' } = this.#reader() ?? {};
    if (isWithheld) return this.#splice.charged;
    const output = Math.max(0, usage.output - countTokens(overlap));
    return withMoreOutput(this.#splice.charged, { ...usage, output });
  }

  #take(bytes: number): number {
    // A background run is held for to its end, and no hold ends it.
    if (this.#ceiling === null) return bytes;
    return this.#ceiling.isPassed() ? 0 : this.#budget.take(this.#ceiling.take(bytes));
  }

  #generated(text: string, isShown: boolean): void {
    const bytes = Buffer.byteLength(text);
    this.#tally.output(text, isShown);
    this.#budget.generated(bytes);
    if (isShown) this.#ceiling?.shown(bytes);
  }

  #reported(): { usage: StreamReader['usage']; isFinal: boolean } {
    const reader = this.#reader();
    // The figures by which a stream was ended are those of its end.
    const isFinal = reader?.isUsageFinal || this.#ceiling?.isReportBeyond();
    return { usage: reader?.usage ?? null, isFinal: isFinal ?? false };
  }
}
