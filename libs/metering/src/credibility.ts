import {
  callsUpTo,
  isSideReported,
  outputTokensOf,
  promptTokensOf,
  promptUpTo,
  USAGE_KEYS,
  withSoundParts,
  type CallCounts,
  type OutputUsage,
  type ReportedUsage,
} from '@tollgate/contracts';

/**
 * Tokenizers differ by up to 2, and a provider that runs tools in rounds may report only its last rounds (recorded: 229 reported for 766 counted).
 * Beyond this factor a report has less output than the delivered text.
 */
const TOKENIZERS_FACTOR = 4;
const TOKENIZERS_TOKENS = 64;
/** Only text of mostly blanks has more characters per token than this, so a report of fewer tokens is worth a count. */
const CHARS_PER_TOKEN_USUAL = 8;
const CHARS_WORTH_A_COUNT = 512;
/** No prompt has this many bytes per token. */
const PROMPT_BYTES_PER_TOKEN = 16;
const PROMPT_BYTES_MIN = 4_096;
/** A report above its limit by at most this factor is a difference of counting: it is charged at the limit and raises no alert. */
const OVERRUN_FACTOR = 1.05;
const OVERRUN_TOKENS = 16;
/**
 * Holds cover at most this many tokens of an overrun that only a report shows, because no model of the tables generates more in an answer. Delivered
 * text beyond a limit is counted, and held for in full.
 */
export const REPORTED_OVERRUN_TOKENS_MAX = 131_072;

/** Holds the plain tokens that a request gave its upstream to read and allowed it to generate. */
export interface UsageBounds {
  /** Is the most that the request can have made its upstream read, all rounds together; a hold covers it. */
  promptTokens: number;
  /** Counts the bytes of the prompt's text; 0 where the upstream may read less than all of it. */
  promptTextBytes: number;
  /** Bounds the calls of each class that counts calls; an absent class was not requested. */
  calls?: CallCounts | undefined;
  /** Is the output limit times the number of choices. */
  outputTokens: number;
}

/** Names why a report was not believed, or why an operator should look at it. */
export type Doubt =
  | 'not_a_count'
  | 'prompt_beyond_bound'
  | 'prompt_below_text'
  | 'output_beyond_limit'
  | 'output_below_text';

/** Compares an answer's output with its limit. */
export interface Overrun {
  readonly factor: number;
  /** Counts the tokens beyond the limit. */
  readonly tokens: number;
}

export interface Judgement {
  /** Holds the reported counts when they can be charged; otherwise null. */
  usage: ReportedUsage | null;
  doubt: Doubt | null;
  /** Counts the reported prompt tokens above the bound, which are not charged. */
  excessTokens: number;
}

/**
 * Checks an upstream's report: usage from outside is untrusted, and a negative count would raise a balance. The prompt is charged up to its bound
 * (`promptUpTo` defines which classes are cut), calls up to what was requested, and the output is compared with the limit. An informative class
 * (`reasoning`) above its parent is cut to it, not refused (https://github.com/vercel/ai/issues/18614).
 */
export function judgeUsage(usage: ReportedUsage, bounds: UsageBounds): Judgement {
  const prompt = promptTokensOf(usage);
  const output = outputTokensOf(usage);
  if (!USAGE_KEYS.every((key) => isCount(usage[key])) || !isCount(prompt) || !isCount(output))
    return { usage: null, doubt: 'not_a_count', excessTokens: 0 };
  const sound: ReportedUsage = {
    ...usage,
    ...callsUpTo(withSoundParts(usage), bounds.calls ?? {}),
  };
  const excessTokens = Math.max(0, prompt - bounds.promptTokens);
  if (excessTokens === 0) return { usage: sound, doubt: doubtOfSize(sound, bounds), excessTokens };
  const cut = promptUpTo(sound, bounds.promptTokens);
  return { usage: cut, doubt: 'prompt_beyond_bound', excessTokens };
}

/** Tokenizers differ by up to this factor: one may count twice the tokens that another counts as its limit. */
const CEILING_FACTOR = 2;
/** A sentence, or a tool call that is finished first, overruns a limit of a few tokens. */
const CEILING_TOKENS = 1_024;

/**
 * Returns the most that an answer is charged by the gateway's own count of all generated text, and the shown text at which a stream ends whose
 * upstream ignores its limit (docs/decisions/0010).
 */
export function outputCeiling(limit: number): number {
  return CEILING_FACTOR * limit + CEILING_TOKENS;
}

/** Returns whether a report has so little output for this much text that the text is worth counting. */
export function isOutputWorthACount(output: number, chars: number): boolean {
  return chars > CHARS_PER_TOKEN_USUAL * output + CHARS_WORTH_A_COUNT;
}

/** `counted` are the tokens of the delivered text. */
export function isOutputBelowText(output: number, counted: number): boolean {
  return counted > TOKENIZERS_FACTOR * output + TOKENIZERS_TOKENS;
}

/**
 * Returns by how much an output exceeds the upstream's limit; null when it does not, or by no more than counting differences. `counted` is charged,
 * so its output above the limit was delivered.
 */
export function overrunOf(
  { reported, counted }: { reported?: OutputUsage | null | undefined; counted: OutputUsage },
  limit: number,
): Overrun | null {
  const believed = limit + REPORTED_OVERRUN_TOKENS_MAX;
  const seen = reported ? Math.min(outputTokensOf(reported), believed) : 0;
  const output = Math.max(outputTokensOf(counted), seen);
  return isBeyond(output, limit)
    ? { factor: output / Math.max(1, limit), tokens: output - limit }
    : null;
}

function isBeyond(output: number, limit: number): boolean {
  return output > OVERRUN_FACTOR * limit + OVERRUN_TOKENS;
}

/**
 * Returns the factor of a hold's output part for an upstream that has overrun its limits: the observed factor, bounded by the observed number of
 * tokens, so that one answer far beyond a tiny limit does not make every larger request too expensive.
 */
export function heldFactor({ factor, tokens }: Overrun, limit: number): number {
  return Math.ceil(Math.min(factor, 1 + tokens / Math.max(1, limit)));
}

function doubtOfSize(usage: ReportedUsage, bounds: UsageBounds): Doubt | null {
  if (isBeyond(outputTokensOf(usage), bounds.outputTokens)) return 'output_beyond_limit';
  const explainedBytes = PROMPT_BYTES_PER_TOKEN * promptTokensOf(usage) + PROMPT_BYTES_MIN;
  return isSideReported(usage, 'prompt') && bounds.promptTextBytes > explainedBytes
    ? 'prompt_below_text'
    : null;
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
