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
 * Tokenizers differ by up to 2, and a provider that runs tools of its own in rounds may report its last rounds only (recorded: 229 reported for 766
 * counted). Beyond this factor a report has less output than the text that was delivered.
 */
const TOKENIZERS_FACTOR = 4;
const TOKENIZERS_TOKENS = 64;
/** Text has more characters to a token than this only where it is mostly blanks, so a report of fewer tokens is worth a count. */
const CHARS_PER_TOKEN_USUAL = 8;
const CHARS_WORTH_A_COUNT = 512;
/** No prompt has so many bytes to a token. */
const PROMPT_BYTES_PER_TOKEN = 16;
const PROMPT_BYTES_MIN = 4_096;
/** A report above its limit by no more than this is a matter of counting; charged at the limit, and no reason for an alert. */
const OVERRUN_FACTOR = 1.05;
const OVERRUN_TOKENS = 16;
/**
 * Holds believe at most this many tokens of an overrun that only a report shows: no model of the tables generates more in an answer. Text that was delivered beyond a limit
 * is counted, and held for in full.
 */
export const REPORTED_OVERRUN_TOKENS_MAX = 131_072;

/** The plain tokens that a request gave its upstream to read, and allowed it to generate. */
export interface UsageBounds {
  /** The most that the request can have had its upstream read, all rounds together; a hold covers it. */
  promptTokens: number;
  /** Tokens of the prompt's text; 0 where less than all of it may be read. */
  promptTextBytes: number;
  /** The most calls of each class that counts calls; a class that is absent was not asked for. */
  calls?: CallCounts | undefined;
  /** The limit that was given, times the choices. */
  outputTokens: number;
}

/** Names the reason why a report was not believed, or why an operator should look at it. */
export type Doubt =
  | 'not_a_count'
  | 'prompt_beyond_bound'
  | 'prompt_below_text'
  | 'output_beyond_limit'
  | 'output_below_text';

/** An answer's output beside the limit it was given. */
export interface Overrun {
  readonly factor: number;
  /** Beyond the limit. */
  readonly tokens: number;
}

export interface Judgement {
  /** The reported counts where they can be charged; null otherwise. */
  usage: ReportedUsage | null;
  doubt: Doubt | null;
  /** Prompt tokens of the report above the bound: they are not charged. */
  excessTokens: number;
}

/**
 * Judges what an upstream reports: usage from outside is untrusted, and a negative count would raise a balance. Of the prompt, what is within its bound is
 * charged (`promptUpTo` says which classes are cut), of calls what was asked for, and the output is compared with the limit that was given. An informative class (`reasoning`) above
 * its parent is cut to it, not refused (https://github.com/vercel/ai/issues/18614).
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

/** Tokenizers differ by up to this: what one counts as its limit, another counts as twice that. */
const CEILING_FACTOR = 2;
/** A limit of a few tokens is overrun by a sentence, or by a call of a tool that is finished first. */
const CEILING_TOKENS = 1_024;

/**
 * The most that an answer is charged by the gateway's own count, all that it generated together, and the shown text at which a stream is ended whose
 * upstream ignores its limit (docs/decisions/0010).
 */
export function outputCeiling(limit: number): number {
  return CEILING_FACTOR * limit + CEILING_TOKENS;
}

/** A report of so little output for so much text that the text is worth counting. */
export function isOutputWorthACount(output: number, chars: number): boolean {
  return chars > CHARS_PER_TOKEN_USUAL * output + CHARS_WORTH_A_COUNT;
}

/** `counted`: tokens of the text that was delivered. */
export function isOutputBelowText(output: number, counted: number): boolean {
  return counted > TOKENIZERS_FACTOR * output + TOKENIZERS_TOKENS;
}

/**
 * Returns by how much an output exceeds what the upstream was allowed; null where it does not, or not by more than counting explains. `counted`: what is charged, so
 * that its output above the limit was delivered.
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
 * Returns the factor of a hold's output part for an upstream that has overrun its limits: the factor it was seen to overrun by, but no more tokens
 * than it was seen to add, so that one answer far beyond a tiny limit does not put every larger request out of reach.
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
