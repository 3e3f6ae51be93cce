import { outputTokensOf, type TokenUsage } from '@tollgate/contracts';
import { countTokens } from '@tollgate/metering/token-counter';
import { continuationAsk, type Ask, type Delivered, type UpstreamError } from '@tollgate/protocols';
import type { Candidate } from '../../snapshot/routing-index.ts';
import { UpstreamFailure } from '../../upstream/upstream-failure.ts';
import type { Metered } from './answer-meter.ts';
import type { Splice } from './splice.ts';
import type { Counted } from './counted.ts';

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
      resume,
      end,
    }: {
      delivered: Delivered;
      counted: Counted | Promise<Counted>;
      resume: (splice: Splice) => void;
      end: (counted: Counted, error: UpstreamError) => Metered;
    },
  ) {
    super(broken, { evidence: 'unknown' });
    this.#delivered = delivered;
    this.#counted = counted;
    this.#resume = resume;
    this.#end = end;
    // A failure to count is seen where the count is awaited.
    if (counted instanceof Promise) counted.catch(() => undefined);
  }

  /** Returns the request by which this candidate continues the answer, within what remains of the limit (tokens); null where no more tokens remain than the anchor takes, or where the text has no anchor. */
  async askOf(
    ask: Ask,
    {
      candidate: { route, upstream },
      outputLimit,
      mayPrefill,
      rid,
    }: { candidate: Candidate; outputLimit: number; mayPrefill: boolean; rid: string },
  ): Promise<{ ask: Ask; outputLimit: number; isPrefill: boolean } | null> {
    const charged: TokenUsage = (await this.#counted).usage;
    const outputTokens = outputLimit - outputTokensOf(charged);
    if (outputTokens < 1) return null;
    const delivered = this.#delivered;
    const continuation = continuationAsk(ask, {
      delivered: delivered.text,
      upstreamProtocol: upstream.protocol,
      upstreamModel: route.upstream_model,
      mayPrefill,
    });
    if (!continuation) return null;
    const { ask: rest, anchor, isPrefill } = continuation;
    if (outputTokens <= countTokens(anchor)) return null;
    this.#resume({ rid, delivered, anchor, charged, prompt: rest.prompt, outputTokens });
    return { ask: rest, outputLimit: outputTokens, isPrefill };
  }

  /** Ends the stream as one that broke: no upstream continues it. */
  async giveUp(error: UpstreamError): Promise<Metered> {
    return this.#end(await this.#counted, error);
  }
}
