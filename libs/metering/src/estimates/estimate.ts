import { ESTIMATE_FAMILIES, NEUTRAL, type EstimateFamily } from './coefficients.ts';

/** What a prompt holds, tokenised by o200k piece by piece. */
export interface PromptCounts {
  textTokens: number;
  /** Of the definitions of tools. */
  toolTokens: number;
  /** Of names and arguments of calls in the history. */
  callTokens: number;
  messages: number;
  tools: number;
  calls: number;
  /** Null: of unknown size. */
  images: readonly ({ width: number; height: number } | null)[];
  /** Of documents. */
  pages: number;
}

/** What an answer holds, tokenised by o200k. */
export interface OutputCounts {
  /** All that was generated: text, shown thinking, names and arguments of calls. */
  textTokens: number;
  calls: number;
  /** Of all calls. */
  arguments: number;
}

/** The family whose coefficients hold for a model of this name; neutral ones where none is known. */
export function estimateFamily(model: string): EstimateFamily {
  return ESTIMATE_FAMILIES.find(({ pattern }) => pattern.test(model)) ?? NEUTRAL;
}

/** Prompt tokens as the providers of a family count them; an estimate, at least 1. */
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

/** Output tokens as the providers of a family count them; never fewer than were seen. */
export function estimateOutput(
  family: EstimateFamily,
  { textTokens, calls, arguments: args }: OutputCounts,
): number {
  if (textTokens === 0 && calls === 0) return 0;
  const [base, text, call, argument] = family.output;
  const tokens = base + text * textTokens + call * calls + argument * args;
  return Math.max(textTokens, Math.round(tokens));
}

/** Where an image is elsewhere, one of common size is taken. */
const COMMON = { width: 1_024, height: 1_024 };

function imageTokens(
  { image }: EstimateFamily,
  size: { width: number; height: number } | null,
): number {
  const { width, height } = size ?? COMMON;
  switch (image) {
    case 'area':
      return areaTokens(width, height);
    case 'tiles':
      return tileTokens(width, height);
    case 'patches':
      return patchTokens(width, height);
    case 'blocks':
      return blockTokens(width, height);
  }
}

/** https://platform.claude.com/docs/en/build-with-claude/vision: a token for 750 pixels, scaled to 1,568 on the long edge and some 1,600 tokens. */
function areaTokens(width: number, height: number): number {
  const scale = Math.min(1, 1_568 / Math.max(width, height));
  return Math.min(1_600, Math.ceil((width * scale * height * scale) / 750));
}

/** https://platform.openai.com/docs/guides/images-vision: fits 2,048, then 768 on the short edge; 85 and 170 for each tile of 512. */
function tileTokens(width: number, height: number): number {
  const fit = Math.min(1, 2_048 / Math.max(width, height));
  const scale = fit * Math.min(1, 768 / (Math.min(width, height) * fit));
  return 85 + 170 * Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512);
}

/** Models of the Pixtral and Qwen kind: a token for each patch of 28 pixels, and one at the end of each row, scaled to 1,540 on the long edge. */
function patchTokens(width: number, height: number): number {
  const scale = Math.min(1, 1_540 / Math.max(width, height));
  return Math.ceil((height * scale) / 28) * (Math.ceil((width * scale) / 28) + 1);
}

/** Grok: 256 for each block of 448 pixels, at most six, and one more for the whole where there are several: https://docs.x.ai/docs/guides/image-understanding. */
function blockTokens(width: number, height: number): number {
  const blocks = Math.min(6, Math.ceil(width / 448) * Math.ceil(height / 448));
  return 256 * (blocks === 1 ? 1 : blocks + 1);
}
