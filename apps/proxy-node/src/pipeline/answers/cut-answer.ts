import { outputTokensOf, type TokenUsage } from '@tollgate/contracts';
import { countTokens } from '@tollgate/metering/token-counter';
import {
  continuationAsk,
  type Ask,
  type ContinuationAsk,
  type Delivered,
  type UpstreamError,
} from '@tollgate/protocols';
import type { Candidate } from '../../snapshot/routing-index.ts';
import { UpstreamFailure } from '../../upstream/upstream-failure.ts';
import type { Metered } from './answer-meter.ts';
import type { Splice } from './splice.ts';
import type { Counted } from './counted.ts';

/** `rest`: the upstream is asked to write on. `again`: it is asked for the whole answer, of which the client gets what it does not have. */
export type Way = 'rest' | 'again';

interface RestAsked {
  readonly candidate: Candidate;
  readonly way: Way;
  readonly outputLimit: number;
  readonly mayPrefill: boolean;
  readonly rid: string;
  /** Takes the tokens of the attempt from the hour's allowance; false when they are used up. It is asked last, so that what is not sent takes none. */
  readonly takes: () => boolean;
}

/** The upstream broke off in the middle of an answer that another one may continue. The client knows nothing of it yet. */
export class CutAnswer extends UpstreamFailure {
  readonly #delivered: Delivered;
  readonly #counted: Counted | Promise<Counted>;
  readonly #resume: (splice: Splice) => void;
  readonly #end: (counted: Counted, error: UpstreamError) => Metered;

  /** Takes `counted`, the charge up to here. `resume` readies the meter for the next attempt, `end` ends the stream with the error. */
  constructor(
    broken: UpstreamError,
    {
      delivered,
      counted,
      isRefused,
      resume,
      end,
    }: {
      delivered: Delivered;
      counted: Counted | Promise<Counted>;
      /** Is true when the gateway refused the attempt as no continuation. */
      isRefused: boolean;
      resume: (splice: Splice) => void;
      end: (counted: Counted, error: UpstreamError) => Metered;
    },
  ) {
    super(broken, { evidence: isRefused ? 'given_up' : 'unknown' });
    this.#delivered = delivered;
    this.#counted = counted;
    this.#resume = resume;
    this.#end = end;
    // A failure to count is seen where the count is awaited.
    if (counted instanceof Promise) counted.catch(() => undefined);
  }

  /** Returns the request by which this candidate ends the answer, within what remains of the limit (tokens); null where no more tokens remain than the anchor takes, where the text has no anchor, or where the allowance is used up. */
  async askOf(
    ask: Ask,
    { outputLimit, rid, takes, ...asked }: RestAsked,
  ): Promise<{ ask: Ask; outputLimit: number; isPrefill: boolean } | null> {
    const charged: TokenUsage = (await this.#counted).usage;
    const left = outputLimit - outputTokensOf(charged);
    const rest = left < 1 ? null : this.#restOf(ask, asked);
    if (!rest) return null;
    const { anchor, isPrefill } = rest;
    // The whole answer has the whole limit.
    const outputTokens = asked.way === 'again' ? outputLimit : left;
    if (outputTokens <= countTokens(anchor) || !takes()) return null;
    this.#resume({
      ...{ rid, delivered: this.#delivered, anchor, isWhole: asked.way === 'again' },
      ...{ charged, prompt: rest.ask.prompt, outputTokens },
    });
    return { ask: rest.ask, outputLimit: outputTokens, isPrefill };
  }

  #restOf(
    ask: Ask,
    {
      candidate: { route, upstream },
      way,
      mayPrefill,
    }: Pick<RestAsked, 'candidate' | 'way' | 'mayPrefill'>,
  ): ContinuationAsk | null {
    const delivered = this.#delivered;
    if (way === 'again')
      return delivered.canBeRepeated ? { ask, anchor: delivered.text, isPrefill: false } : null;
    return continuationAsk(ask, {
      delivered: delivered.text,
      upstreamProtocol: upstream.protocol,
      upstreamModel: route.upstream_model,
      mayPrefill,
    });
  }

  /** Ends the stream as one that broke: no upstream continues it. */
  async giveUp(error: UpstreamError): Promise<Metered> {
    return this.#end(await this.#counted, error);
  }
}
