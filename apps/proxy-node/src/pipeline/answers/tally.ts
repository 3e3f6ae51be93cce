import {
  NO_OUTPUT,
  NO_USAGE,
  outputTokensOf,
  promptTokensOf,
  type AttemptCost,
  type OutputUsage,
  type ReportedUsage,
  type TokenUsage,
} from '@tollgate/contracts';
import {
  estimateUsage,
  isOutputBelowText,
  isOutputWorthACount,
  outputCeiling,
  type HoldPlan,
  type Judgement,
  type UsageBounds,
} from '@tollgate/metering';
import { countTokens, countTokensGently, TokenCounter } from '@tollgate/metering/token-counter';
import type { PromptFacts } from '@tollgate/protocols';
import { nextTurn } from '../../next-turn.ts';
import { CallCount, type WholeCalls } from './call-count.ts';
import type { CloserEstimate } from '../request/closer-estimate.ts';
import {
  finalOutput,
  judgedReport,
  outputCharged,
  promptReported,
  type Reported,
} from '../judged-report.ts';
import { countedAs, type Counted } from './counted.ts';

/** Prompts up to this size are tokenised at once (about 2 ms, 6 for the worst); longer ones in batches beside other requests. */
const PROMPT_AT_ONCE_BYTES = 16 * 1024;

/** Is the average for common text. */
const BYTES_PER_TOKEN = 4;

/** Is the gateway's own count of one attempt, kept beside what the upstream reports. The prompt is only tokenised on demand: a request whose usage is reported never pays for it. */
export class Tally {
  readonly #prompt: PromptFacts;
  readonly #bounds: UsageBounds;
  readonly #besideTextTokens: number;
  readonly #output = new TokenCounter();
  /** Counts the part of the output that is not shown; see `StreamSink`. */
  readonly #hidden = new TokenCounter();
  #outputChars = 0;
  /** Counts the tokens of the prompt's text; null until it is tokenised. */
  #textTokens: number | null;
  #isCountingPrompt = false;
  readonly #calls = new CallCount();
  readonly #closer: CloserEstimate | null;

  /** Takes the `plan` of the hold, and the `exactTextTokens` of the prompt where admission has tokenised it. */
  constructor({
    prompt,
    plan,
    exactTextTokens = null,
    closer = null,
  }: {
    prompt: PromptFacts;
    plan: Pick<HoldPlan, 'bounds' | 'besideTextTokens'>;
    exactTextTokens?: number | null;
    /** Is the estimate of the model's family; null if none is known. */
    closer?: CloserEstimate | null;
  }) {
    this.#prompt = prompt;
    this.#bounds = plan.bounds;
    this.#besideTextTokens = plan.besideTextTokens;
    this.#textTokens = exactTextTokens;
    this.#closer = closer;
  }

  /** One more tool call is generated, whose text follows. */
  called(): void {
    this.#calls.begin();
  }

  /** Takes all calls of an answer that came as a whole. */
  calledInAll(calls: WholeCalls): void {
    this.#calls.takeAll(calls);
  }

  output(text: string, isShown = true): void {
    this.#output.push(text);
    if (!isShown) this.#hidden.push(text);
    if (this.#closer) this.#calls.read(text);
    this.#outputChars += text.length;
  }

  /** Is the length of the generated text. */
  get outputChars(): number {
    return this.#outputChars;
  }

  /** Its tokens will be known without a further chunk. */
  get isCountingPrompt(): boolean {
    return this.#isCountingPrompt && this.#textTokens === null;
  }

  /** Returns a running count that is never above the true one; a long prompt counts from the moment its tokens are known. */
  soFar(reported: Reported): TokenUsage {
    const judged = judgedReport(reported, this.#bounds);
    const prompt = promptReported(judged);
    if (!prompt) this.#startCountingPrompt();
    return {
      ...(prompt ?? (this.#textTokens === null ? NO_USAGE : this.#promptOf(this.#textTokens))),
      ...(this.#outputReported(judged, reported) ?? textOutput(this.#charged(this.#output.tokens))),
    };
  }

  /**
   * Returns what `atEnd` would charge if the answer ended here, or more. Holds must cover it: until the upstream has reported its prompt tokens, and
   * many do at the end only, the prompt stands with all the hold took for it, less what its text has too many bytes.
   */
  ifEnded(reported: Reported): TokenUsage {
    const judged = judgedReport(reported, this.#bounds);
    const prompt = promptReported(judged) ?? {
      ...NO_USAGE,
      ...this.#bounds.calls,
      input: this.#besideTextTokens + (this.#textTokens ?? this.#prompt.textBytes),
    };
    const output =
      this.#outputReported(judged, reported) ?? // A report that is still to come may name all that is not shown.
      textOutput(this.#charged(this.#output.tokensIfEnded, this.hiddenTokens));
    return { ...prompt, ...output };
  }

  /** Counts the output tokens that are certain so far, by our own count. */
  get outputTokens(): number {
    return this.#output.tokens;
  }

  /** Counts the tokens of the text that is shown. */
  get shownTokens(): number {
    return this.#output.tokens - this.hiddenTokens;
  }

  get hiddenTokens(): number {
    return this.#hidden.tokensIfEnded;
  }

  /** Is the limit that the upstream was given, times the choices. */
  get outputLimit(): number {
    return this.#bounds.outputTokens;
  }

  /** Returns the possible cost of an attempt without an answer for the installation: at once and roughly, as the customer pays none of it. */
  costSoFar(reported: Reported): AttemptCost {
    const prompt =
      promptReported(judgedReport(reported, this.#bounds)) ??
      this.#promptOf(this.#textTokens ?? Math.ceil(this.#prompt.textBytes / BYTES_PER_TOKEN));
    const output = reported.isFinal ? (reported.usage?.output ?? 0) : 0;
    return {
      input_tokens: promptTokensOf(prompt),
      output_tokens: Math.max(this.#output.tokens, output),
    };
  }

  /**
   * Returns the charge of an answer that is over: the report if it is final and credible, else the upstream's prompt figure or ours, our count of the
   * output, and `unseenTokens` of it that were generated without being shown, as far as the limit allows them. What is counted is what providers of the
   * model's family would count, where that still `fits` the hold.
   */
  atEnd(
    reported: Reported,
    unseenTokens = 0,
    fits: (usage: TokenUsage) => boolean = () => false,
  ): Counted | Promise<Counted> {
    const judged = judgedReport(reported, this.#bounds);
    const prompt = promptReported(judged);
    if (!prompt || this.#isTextDecisive(judged, reported))
      return this.#countAtEnd(judged, { reported, prompt, unseenTokens, fits });
    const output = this.#outputReported(judged, reported);
    const limit = this.#bounds.outputTokens;
    return countedAs({ ...prompt, ...output }, { judged, basis: 'reported', limit });
  }

  /** Does the same as `atEnd` when the text of prompt or output is counted. */
  async #countAtEnd(
    judged: Judgement | null,
    {
      reported,
      prompt,
      unseenTokens,
      fits,
    }: {
      reported: Reported;
      prompt: TokenUsage | null;
      unseenTokens: number;
      fits: (usage: TokenUsage) => boolean;
    },
  ): Promise<Counted> {
    if (this.#isTextDecisive(judged, reported)) await this.#output.countGently(nextTurn);
    const output = this.#outputReported(judged, reported);
    const isBelowText = this.#isBelowText(finalOutput(judged, reported));
    const plain = {
      ...(prompt ?? this.#promptOf(await this.#countPrompt())),
      ...(output && !isBelowText ? output : this.#outputCounted(isBelowText ? 0 : unseenTokens)),
    };
    const closer = await this.#closerThan(plain, { prompt, output });
    const usage = closer && fits(closer) ? closer : plain;
    const basis = prompt && output && !isBelowText ? 'reported' : 'estimated';
    return countedAs(usage, { judged, basis, isBelowText, limit: this.#bounds.outputTokens });
  }

  #outputReported(judged: Judgement | null, reported: Reported): OutputUsage | null {
    return outputCharged(finalOutput(judged, reported), {
      limit: this.#bounds.outputTokens,
      hiddenTokens: () => this.hiddenTokens,
      deliveredTokens: () => this.#output.tokensIfEnded,
    });
  }

  /** Returns true if the text of the answer is counted: there is no final report, or the report is above the limit or may be below the text. */
  #isTextDecisive(judged: Judgement | null, reported: Reported): boolean {
    const usage = finalOutput(judged, reported);
    if (!usage) return true;
    const output = outputTokensOf(usage);
    return output > this.#bounds.outputTokens || isOutputWorthACount(output, this.#outputChars);
  }

  #outputCounted(unseenTokens: number): OutputUsage {
    const seen = this.#charged(this.#output.finish());
    const reasoning = Math.max(0, Math.min(unseenTokens, this.#bounds.outputTokens - seen));
    return textOutput(seen + reasoning, reasoning);
  }

  /** Returns the charged part of a count: the customer does not pay for the excess of an upstream that ignores its limit and reports nothing. */
  #charged(tokens: number, more = 0): number {
    return Math.min(tokens, outputCeiling(this.#bounds.outputTokens) + more);
  }

  /** Returns null where the upstream reported all of it, or the model's family is not known. A report below its own text stays with the plain count. */
  async #closerThan(
    plain: TokenUsage,
    { prompt, output }: { prompt: TokenUsage | null; output: OutputUsage | null },
  ): Promise<TokenUsage | null> {
    if (this.#closer === null || (prompt && output)) return null;
    const input = prompt ? plain.input : Math.max(plain.input, await this.#closer.promptTokens());
    if (output) return { ...plain, input };
    const seen = this.#charged(this.#output.finish());
    const unseen = outputTokensOf(plain) - seen;
    const limit = Math.max(this.#bounds.outputTokens, seen);
    const counted = Math.min(this.#closer.outputTokens(this.#calls.counts(seen)) + unseen, limit);
    return { ...plain, input, ...textOutput(counted, unseen) };
  }

  #isBelowText(reported: ReportedUsage | null): boolean {
    if (!reported) return false;
    const output = outputTokensOf(reported);
    return (
      isOutputWorthACount(output, this.#outputChars) &&
      isOutputBelowText(output, this.#output.tokensIfEnded)
    );
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
    const { imageCount, thread } = this.#prompt;
    const textTokens = promptTextTokens + (thread?.promptTokens ?? 0);
    return estimateUsage({ promptTextTokens: textTokens, imageCount, outputTokens: 0 });
  }
}

/** Returns output as the gateway counts it, all of it as text. */
function textOutput(output: number, reasoning = 0): OutputUsage {
  return { ...NO_OUTPUT, output, reasoning };
}
