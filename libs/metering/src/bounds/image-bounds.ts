import { blockTokens, cropTokens, patchTokens, squaresOf, tileTokens } from '../image-tokens.ts';
import type { Pixels } from '../image-tokens.ts';

/** An image of a request, as far as the request says. */
export interface ImageInput {
  /** Null: it is elsewhere, or its size cannot be relied on. */
  size: Pixels | null;
  /** The detail that the request asks for; null where it leaves that to the provider. */
  detail: 'low' | 'high' | null;
}

/** The most a family counts for an image. */
export interface ImageBound {
  of(size: Pixels, detail: ImageInput['detail']): number;
  /** The tokens of the largest image in the dearest detail. */
  largest: number;
}

/** No image has more tiles: 768 x 2,048 pixels are two by four. */
const TILES_MAX = 8;
/** https://platform.openai.com/docs/guides/images-vision: low detail is an image of 512 pixels on each edge. */
const LOW_PATCHES = 256;

/** OpenAI's models that count tiles of 512 pixels; low detail is the base alone. */
export function tiles(base: number, tile: number): ImageBound {
  return {
    of: (size, detail) => (detail === 'low' ? base : tileTokens(size, base, tile)),
    largest: base + TILES_MAX * tile,
  };
}

/** OpenAI's models that count patches of 32 pixels, up to a budget, times a factor. `high`: the budget of that detail, where it is smaller. */
export function patches(budget: number, factor = 1, high = budget): ImageBound {
  const most = { low: LOW_PATCHES, high, auto: budget };
  return {
    of: (size, detail) => Math.ceil(factor * Math.min(squaresOf(size, 32), most[detail ?? 'auto'])),
    largest: Math.ceil(factor * budget),
  };
}

/** Claude: patches of 28 pixels, and in older words a token for 750 pixels; an image above the maximum is scaled to it. */
export function visualTokens(most: number): ImageBound {
  return {
    of: (size) =>
      Math.min(most, Math.max(squaresOf(size, 28), Math.ceil((size.width * size.height) / 750))),
    largest: most,
  };
}

/** The same for each image, whatever its size. */
export function fixed(tokens: number): ImageBound {
  return { of: () => tokens, largest: tokens };
}

/** Qwen's models and what is built on them: patches of 28 pixels and the marks of an image, up to what the servers allow. */
export const QWEN_PATCHES: ImageBound = {
  of: (size) => Math.min(16_384, squaresOf(size, 28)) + 2,
  largest: 16_386,
};

/** Pixtral: 55 rows of 56 at most. */
export const PIXTRAL_PATCHES: ImageBound = { of: patchTokens, largest: 55 * 56 };

/** Grok: six blocks and the whole. */
export const GROK_BLOCKS: ImageBound = { of: blockTokens, largest: 7 * 256 };

/** Gemini 2: 12 crops by two, of an image of 3,072 x 385 pixels. */
export const GEMINI_CROPS: ImageBound = { of: cropTokens, largest: 24 * 258 };

/** The largest of several, for families whose models differ. */
export function largestOf(bounds: readonly ImageBound[]): ImageBound {
  return {
    of: (size, detail) => Math.max(...bounds.map((bound) => bound.of(size, detail))),
    largest: Math.max(...bounds.map(({ largest }) => largest)),
  };
}
