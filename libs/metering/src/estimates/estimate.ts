import { blockTokens, patchTokens, tileTokens, type Pixels } from '../image-tokens.ts';
import { ESTIMATE_FAMILIES, NEUTRAL, type EstimateFamily } from './coefficients.ts';

/** Holds the parts of a prompt, tokenised by o200k piece by piece. */
export interface PromptCounts {
  textTokens: number;
  /** Counts the tokens of tool definitions. */
  toolTokens: number;
  /** Counts the tokens of names and arguments of calls in the history. */
  callTokens: number;
  messages: number;
  tools: number;
  calls: number;
  /** null means an unknown size. */
  images: readonly (Pixels | null)[];
  /** Counts the tokens of documents. */
  pages: number;
}

/** Holds the parts of an answer, tokenised by o200k. */
export interface OutputCounts {
  /** Counts the tokens of all output: text, shown thinking, names and arguments of calls. */
  textTokens: number;
  calls: number;
  /** Is the number of arguments of all calls. */
  arguments: number;
}

/** Returns the family whose coefficients apply to a model of this name; neutral ones for an unknown name. */
export function estimateFamily(model: string): EstimateFamily {
  return ESTIMATE_FAMILIES.find(({ pattern }) => pattern.test(model)) ?? NEUTRAL;
}

/** Estimates prompt tokens as the providers of a family count them; at least 1. */
export function estimatePrompt(family: EstimateFamily, counts: PromptCounts): number {
  const [base, message, text, toolPrompt, tool, definition, call, argument] = family.prompt;
  const tokens =
    base +
    message * counts.messages +
    text * counts.textTokens +
    (counts.tools > 0 ? toolPrompt : 0) +
    tool * counts.tools +
    definition * counts.toolTokens +
    call * counts.calls +
    argument * counts.callTokens +
    counts.images.reduce((sum, size) => sum + imageTokens(family, size), 0) +
    counts.pages * family.page;
  return Math.max(1, Math.round(tokens));
}

/** Estimates output tokens as the providers of a family count them; never fewer than were seen. */
export function estimateOutput(
  family: EstimateFamily,
  { textTokens, calls, arguments: args }: OutputCounts,
): number {
  if (textTokens === 0 && calls === 0) return 0;
  const [base, text, call, argument] = family.output;
  const tokens = base + text * textTokens + call * calls + argument * args;
  return Math.max(textTokens, Math.round(tokens));
}

/** An image without a known size counts as one of this common size. */
const COMMON = { width: 1_024, height: 1_024 };

function imageTokens({ image }: EstimateFamily, size: Pixels | null): number {
  const pixels = size ?? COMMON;
  switch (image) {
    case 'area':
      return areaTokens(pixels);
    case 'tiles':
      return tileTokens(pixels, 85, 170);
    case 'patches':
      return patchTokens(pixels);
    case 'blocks':
      return blockTokens(pixels);
  }
}

/** Counts a token per 750 pixels, scaled to 1,568 on the long edge and about 1,600 tokens: https://platform.claude.com/docs/en/build-with-claude/vision. */
function areaTokens({ width, height }: Pixels): number {
  const scale = Math.min(1, 1_568 / Math.max(width, height));
  return Math.min(1_600, Math.ceil((width * scale * height * scale) / 750));
}
