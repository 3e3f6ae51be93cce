/** Holds a size in pixels. */
export interface Pixels {
  width: number;
  height: number;
}

/**
 * Counts OpenAI's tiles: the image is scaled to fit 2,048, then to 768 on the short edge; it costs a base and a figure per tile of 512:
 * https://platform.openai.com/docs/guides/images-vision.
 */
export function tileTokens({ width, height }: Pixels, base: number, tile: number): number {
  const [short, long] = [Math.min(width, height), Math.max(width, height)];
  // Each quotient is exact where it is whole; a scale that is rounded first would add an empty tile.
  const along = (edge: number): number =>
    Math.ceil(Math.min(edge / 512, (4 * edge) / long, (1.5 * edge) / short));
  return base + tile * along(width) * along(height);
}

/** Returns the number of squares of `edge` pixels that cover an image. */
export function squaresOf({ width, height }: Pixels, edge: number): number {
  return Math.ceil(width / edge) * Math.ceil(height / edge);
}

/** Counts as Pixtral does: a token per patch of 28 pixels and one per row, scaled to 1,540 on the long edge. */
export function patchTokens({ width, height }: Pixels): number {
  const long = Math.max(width, height);
  const along = (edge: number): number => Math.ceil(Math.min(edge / 28, (55 * edge) / long));
  return along(height) * (along(width) + 1);
}

/**
 * Counts as Grok does: 256 per block of 448 pixels, at most six blocks, and one more for the whole image when there are several:
 * https://docs.x.ai/docs/guides/image-understanding.
 */
export function blockTokens(size: Pixels): number {
  const blocks = Math.min(6, squaresOf(size, 448));
  return 256 * (blocks === 1 ? 1 : blocks + 1);
}

/**
 * Counts as Gemini 2 does: 258 per tile of an image of at most 3,072. A tile's edge is two thirds of the short edge, in whole pixels between 256 and
 * 768: https://ai.google.dev/gemini-api/docs/image-understanding.
 */
export function cropTokens({ width, height }: Pixels): number {
  const [short, long] = [Math.min(width, height), Math.max(width, height)];
  const scaled = (edge: number): number => Math.min(edge, (3_072 * edge) / long);
  const twoThirds = Math.floor(Math.min((2 * short) / 3, (2_048 * short) / long));
  const tile = Math.min(768, Math.max(256, twoThirds));
  return 258 * squaresOf({ width: scaled(width), height: scaled(height) }, tile);
}
