import { NO_USAGE, type AttemptCost, type ChargeBasis, type TokenUsage } from '@tollgate/contracts';
import {
  countTokens,
  countTokensGently,
  estimateUsage,
  quarantine,
  TokenCounter,
  type HoldPlan,
  type UsageBounds,
} from '@tollgate/metering';
import type { PromptFacts } from '@tollgate/protocols';
import { nextTurn } from '../next-turn.ts';

/** Prompts up to this size are tokenised at once (about 2 ms); longer ones in batches beside other requests. */
const PROMPT_AT_ONCE_BYTES = 16 * 1024;

/** Of common text, on the average. */
const BYTES_PER_TOKEN = 4;

export interface Reported {
  usage: TokenUsage | null;
  isFinal: boolean;
}

export interface Counted {
  usage: TokenUsage;
  basis: ChargeBasis;
  /** Why the upstream's report was not believed, for the operator. */
  quarantined: string | null;
}

/**
 * The gateway's own count of one attempt, beside what the upstream reports. The prompt is only tokenised when somebody asks: a request whose
 * usage is reported never pays for it.
 */
export class Tally {
  readonly #prompt: PromptFacts;
  readonly #bounds: UsageBounds;
  readonly #besideTextTokens: number;
  readonly #output = new TokenCounter();
  /** Of the prompt's text; null until it is tokenised. */
  #textTokens: number | null;
  #isCountingPrompt = false;

  /** `plan`: of the hold. `exactTextTokens`: of the prompt, where admission has tokenised it. */
  constructor({
    prompt,
    plan,
    exactTextTokens = null,
  }: {
    prompt: PromptFacts;
    plan: Pick<HoldPlan, 'bounds' | 'besideTextTokens'>;
    exactTextTokens?: number | null;
  }) {
    this.#prompt = prompt;
    this.#bounds = plan.bounds;
    this.#besideTextTokens = plan.besideTextTokens;
    this.#textTokens = exactTextTokens;
  }

  output(text: string): void {
    this.#output.push(text);
  }

  /** A running count that is never above the true one; a long prompt counts from the moment its tokens are known. */
  soFar({ usage, isFinal }: Reported): TokenUsage {
    const reported = this.#believed(usage);
    if (reported && isFinal) return reported;
    if (!reported) this.#startCountingPrompt();
    return {
      ...(reported ?? (this.#textTokens === null ? NO_USAGE : this.#promptOf(this.#textTokens))),
      output: this.#output.tokens,
      reasoning: 0,
    };
  }

  /**
   * What `atEnd` would charge if the answer ended here, or more. For holds, which must cover it: until the upstream has told its prompt figure, and
   * many do at the end only, the prompt stands with all the hold took for it, less what its text has too many bytes.
   */
  ifEnded({ usage, isFinal }: Reported): TokenUsage {
    const reported = this.#believed(usage);
    if (reported && isFinal) return reported;
    const prompt = reported ?? {
      ...NO_USAGE,
      input: this.#besideTextTokens + (this.#textTokens ?? this.#prompt.textBytes),
    };
    return { ...prompt, output: this.#output.tokensIfEnded, reasoning: 0 };
  }

  /** Output tokens that are certain so far, by our own count. */
  get outputTokens(): number {
    return this.#output.tokens;
  }

  /** What an attempt that brought no answer may have cost the installation: at once and roughly, as the customer pays none of it. */
  costSoFar({ usage }: Reported): AttemptCost {
    const { input, cacheRead, cacheWrite } =
      this.#believed(usage) ??
      this.#promptOf(this.#textTokens ?? Math.ceil(this.#prompt.textBytes / BYTES_PER_TOKEN));
    return { input_tokens: input + cacheRead + cacheWrite, output_tokens: this.#output.tokens };
  }

  /**
   * What to charge now that the answer is over: the report where it is final and credible, else the upstream's prompt figure or ours, our count of the
   * output, and `unseenTokens` of it that were generated without being shown, as far as the limit allows them.
   */
  async atEnd({ usage, isFinal }: Reported, unseenTokens = 0): Promise<Counted> {
    const reported = this.#believed(usage);
    const quarantined = usage && !reported ? this.#doubt(usage) : null;
    if (reported && isFinal) return { usage: reported, basis: 'reported', quarantined };
    const prompt = reported ?? this.#promptOf(await this.#countPrompt());
    const seen = this.#output.finish();
    const reasoning = Math.max(0, Math.min(unseenTokens, this.#bounds.outputTokens - seen));
    return {
      usage: { ...prompt, output: seen + reasoning, reasoning },
      basis: 'estimated',
      quarantined,
    };
  }

  #believed(usage: TokenUsage | null): TokenUsage | null {
    if (!usage || saysNothing(usage)) return null;
    const judgement = quarantine(usage, this.#bounds);
    return judgement.kind === 'accepted' ? judgement.usage : null;
  }

  #doubt(usage: TokenUsage): string | null {
    const judgement = quarantine(usage, this.#bounds);
    return judgement.kind === 'quarantined' ? judgement.reason : null;
  }

  #startCountingPrompt(): void {
    if (this.#isCountingPrompt) return;
    this.#isCountingPrompt = true;
    // A failure to tokenise would leave the prompt uncounted until the end, where it is seen.
    this.#countPrompt().catch(() => undefined);
  }

  async #countPrompt(): Promise<number> {
    if (this.#textTokens !== null) return this.#textTokens;
    const text = this.#prompt.text();
    this.#textTokens =
      this.#prompt.textBytes <= PROMPT_AT_ONCE_BYTES
        ? countTokens(text)
        : await countTokensGently(text, nextTurn);
    return this.#textTokens;
  }

  #promptOf(promptTextTokens: number): TokenUsage {
    return estimateUsage({
      promptTextTokens,
      imageCount: this.#prompt.imageCount,
      outputTokens: 0,
    });
  }
}

/** Servers without accounting fill their usage with zeros: that is no report, and no reason to give the answer away. */
function saysNothing({ input, cacheRead, cacheWrite, output }: TokenUsage): boolean {
  return input + cacheRead + cacheWrite + output === 0;
}
