import { blockTokens, cropTokens, patchTokens, squaresOf, tileTokens } from '../image-tokens.ts';
import type { Pixels } from '../image-tokens.ts';

/** Describes an image of a request, as far as the request states it. */
export interface ImageInput {
  /** Is the size; null when the image is not in the request, or its size cannot be relied on. */
  size: Pixels | null;
  /** Is the detail that the request asks for; null where the provider decides. */
  detail: 'low' | 'high' | null;
}

/** Bounds what a family counts for an image. */
export interface ImageBound {
  of(size: Pixels, detail: ImageInput['detail']): number;
  /** Counts the tokens of the largest image in the dearest detail. */
  largest: number;
}

/** An image has at most eight tiles: 768 x 2,048 pixels are two by four. */
const TILES_MAX = 8;
/** Low detail is an image of 512 pixels on each edge: https://platform.openai.com/docs/guides/images-vision. */
const LOW_PATCHES = 256;

/** Bounds OpenAI's models that count tiles of 512 pixels; low detail counts only the base. */
export function tiles(base: number, tile: number): ImageBound {
  return {
    of: (size, detail) => (detail === 'low' ? base : tileTokens(size, base, tile)),
    largest: base + TILES_MAX * tile,
  };
}

/** Bounds OpenAI's models that count patches of 32 pixels, up to a budget, times a factor. `high` is the budget of that detail, where it is smaller. */
export function patches(budget: number, factor = 1, high = budget): ImageBound {
  const most = { low: LOW_PATCHES, high, auto: budget };
  return {
    of: (size, detail) => Math.ceil(factor * Math.min(squaresOf(size, 32), most[detail ?? 'auto'])),
    largest: Math.ceil(factor * budget),
  };
}

/** Bounds Claude: patches of 28 pixels or, in older documentation, a token per 750 pixels. An image above the maximum is scaled to it. */
export function visualTokens(most: number): ImageBound {
  return {
    of: (size) =>
      Math.min(most, Math.max(squaresOf(size, 28), Math.ceil((size.width * size.height) / 750))),
    largest: most,
  };
}

/** Bounds models that count the same for each image, whatever its size. */
export function fixed(tokens: number): ImageBound {
  return { of: () => tokens, largest: tokens };
}

/** Bounds Qwen's models and those built on them: patches of 28 pixels and the marks of an image, up to what the servers allow. */
export const QWEN_PATCHES: ImageBound = {
  of: (size) => Math.min(16_384, squaresOf(size, 28)) + 2,
  largest: 16_386,
};

/** Bounds Pixtral: at most 55 rows of 56 patches. */
export const PIXTRAL_PATCHES: ImageBound = { of: patchTokens, largest: 55 * 56 };

/** Bounds Grok: six blocks and the whole image. */
export const GROK_BLOCKS: ImageBound = { of: blockTokens, largest: 7 * 256 };

/** Bounds Gemini 2: 12 crops by two, of an image of 3,072 x 385 pixels. */
export const GEMINI_CROPS: ImageBound = { of: cropTokens, largest: 24 * 258 };

/** Returns the largest of several bounds, for families whose models differ. */
export function largestOf(bounds: readonly ImageBound[]): ImageBound {
  return {
    of: (size, detail) => Math.max(...bounds.map((bound) => bound.of(size, detail))),
    largest: Math.max(...bounds.map(({ largest }) => largest)),
  };
}
