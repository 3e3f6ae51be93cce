import type { ImageInput } from './image-bounds.ts';
import { promptBoundOf } from './prompt-bounds.ts';
import { toolTokens } from './tool-bounds.ts';

/** Is the number of tokens that separate an image from the text around it. */
const TOKENS_PER_IMAGE_MARK = 8;
/** Is the number of tokens that a template puts around the definition of a tool. */
const TOKENS_PER_TOOL = 32;

interface AddedInput {
  readonly images: readonly ImageInput[];
  readonly ownTools: number;
  readonly vendorTools: readonly string[];
}

/** Returns the tokens that the provider counts in addition to the text: images, its template, and its text for tools. */
export function addedTokensOf(
  { images, ownTools, vendorTools }: AddedInput,
  upstreamModels: readonly string[],
): number {
  const bound = promptBoundOf(upstreamModels);
  let tokens = templateTokensOf({ ownTools, vendorTools }, upstreamModels);
  tokens += TOKENS_PER_TOOL * ownTools + toolTokens(vendorTools);
  for (const { size, detail } of images)
    tokens += TOKENS_PER_IMAGE_MARK + (size ? bound.images.of(size, detail) : bound.images.largest);
  return tokens;
}

/** Returns the most that the provider's own text may have: its template, and its text about tools. The caller sends none of it. */
export function templateTokensOf(
  { ownTools, vendorTools }: Pick<AddedInput, 'ownTools' | 'vendorTools'>,
  upstreamModels: readonly string[],
): number {
  const { template, toolPrompt } = promptBoundOf(upstreamModels);
  return template + (ownTools + vendorTools.length > 0 ? toolPrompt : 0);
}
