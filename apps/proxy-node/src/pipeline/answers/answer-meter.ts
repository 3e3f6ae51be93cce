import type { AttemptCost, Outcome } from '@tollgate/contracts';
import type { Delivered, StreamSink } from '@tollgate/protocols';
import type { ClientReply } from '../../http/client-reply.ts';
import type { Ticker } from '../../upstream/ticker.ts';
import type { HoldHandle } from '../../usage/usage-recorder.ts';
import type { DrainLimits } from './drain.ts';
import type { Splice } from './splice.ts';
import type { Answer, Flight } from '../sending/attempt.ts';
import type { ReasoningRate } from './reasoning-rates.ts';
import type { StopReason } from './stop-reason.ts';
import type { Counted } from './counted.ts';
import type { Tally } from './tally.ts';

/** Holds the outcome of an answer, its usage, and the end of it that the client has not received yet. */
export interface Metered {
  readonly outcome: Outcome;
  readonly counted: Counted;
  readonly firstTokenMs: number | null;
  /** Is the status that the client sees; 499 when it left before there was one. */
  readonly status: number;
  /**
   * Sends the rest of the answer and ends it. To be called once the final is in the journal: a request whose client saw its end is charged exactly,
   * whenever the node is killed.
   */
  readonly sendEnd: () => void;
}

export interface MeterContext {
  readonly reply: ClientReply;
  readonly hold: HoldHandle;
  /** Creates the count of one attempt. `splice` belongs to an attempt that continues a cut answer. */
  createTally(splice: Splice | null): Tally;
  /** Is the delivered part of a stream that another upstream may continue; null for any other. */
  readonly delivered: Delivered | null;
  readonly ticker: Ticker;
  readonly receivedMonotonicMs: number;
  readonly keepAliveMs: number;
  readonly drain: DrainLimits;
  readonly reasoning: ReasoningRate;
  readonly isBackground: boolean;
  /** Is called once the upstream has named an answer that it makes in the background, before the client knows of it. */
  onBackground(responseId: string, by: BackgroundMaker): void;
}

/** Names the account at a provider that makes an answer; an `Answer` fits. */
export interface BackgroundMaker {
  readonly upstreamId: number;
  readonly credentialId: number | undefined;
}

/** Gets what came of an answer. */
export interface MeteredListener {
  metered(metered: Metered): void;
  /** Gets an UpstreamFailure while the client has nothing of an answer, so that another upstream may be asked, and a CutAnswer where another one may continue what the client has. */
  failed(error: unknown): void;
}

/** Reports an answer once it is counted: at once, where its text need not be. */
export function report(
  counting: Counted | Promise<Counted>,
  listener: MeteredListener | null,
  toMetered: (counted: Counted) => Metered,
): void {
  if (!(counting instanceof Promise)) return listener?.metered(toMetered(counting));
  counting.then(
    (counted) => listener?.metered(toMetered(counted)),
    (error: unknown) => listener?.failed(error),
  );
}

/** Reads an answer as the meter's `read` does. */
export function meteredBy(meter: AnswerMeter, answer: Answer): Promise<Metered> {
  return new Promise((resolve, reject) => meter.read(answer, { metered: resolve, failed: reject }));
}

/** Passes one request's answer to the client and counts it on the way. One per request; attempts come one after the other. */
export interface AnswerMeter {
  /** Begins a new attempt: what an earlier one generated is dropped, as no client received it. */
  begin(): StreamSink;
  /** Watches the request: when the client leaves, it reads the answer on for its usage, or closes it where that ends the bill; it keeps the client's connection alive while the upstream is silent. */
  watch(flight: Flight): void;
  /** Passes the answer on, all but its end. The listener is called once. */
  read(answer: Answer, listener: MeteredListener): void;
  /** The client left and the attempt ended with this error: what the request is charged. */
  left(error: unknown): Promise<Metered>;
  /** Access was withdrawn or not confirmed, or the balance is used up: no further upstream is to be asked. */
  readonly stopReason: StopReason | null;
  /** Returns the possible cost of the attempt in progress for the installation, by the gateway's own count. */
  costSoFar(): AttemptCost;
  /** Returns the cost for the installation of an attempt that ends a cut answer: its prompt, and the output that the client had already or does not get. Null where it is the whole answer of the client, who pays it. */
  costOfContinued(): AttemptCost | null;
  /** The request failed permanently after its stream had begun: reports the error in the stream. */
  fail(error: unknown): void;
  /** Ends the answer now, in its protocol's words: the node stops and waits no longer. */
  cut(): void;
  /** Releases what the meter holds; the caller always calls it last. */
  close(): void;
}
