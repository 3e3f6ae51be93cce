/** Pixels. */
export interface Pixels {
  width: number;
  height: number;
}

/** OpenAI: fits 2,048, then 768 on the short edge; a base, and a figure for each tile of 512: https://platform.openai.com/docs/guides/images-vision. */
export function tileTokens({ width, height }: Pixels, base: number, tile: number): number {
  const [short, long] = [Math.min(width, height), Math.max(width, height)];
  // Each quotient is exact where it is whole: a scale that is rounded first makes a tile of nothing.
  const along = (edge: number): number =>
    Math.ceil(Math.min(edge / 512, (4 * edge) / long, (1.5 * edge) / short));
  return base + tile * along(width) * along(height);
}

/** Squares of `edge` pixels that cover an image. */
export function squaresOf({ width, height }: Pixels, edge: number): number {
  return Math.ceil(width / edge) * Math.ceil(height / edge);
}

/** Models of the Pixtral kind: a token for each patch of 28 pixels, and one at the end of each row, scaled to 1,540 on the long edge. */
export function patchTokens({ width, height }: Pixels): number {
  const long = Math.max(width, height);
  const along = (edge: number): number => Math.ceil(Math.min(edge / 28, (55 * edge) / long));
  return along(height) * (along(width) + 1);
}

/** Grok: 256 for each block of 448 pixels, at most six, and one more for the whole where there are several: https://docs.x.ai/docs/guides/image-understanding. */
export function blockTokens(size: Pixels): number {
  const blocks = Math.min(6, squaresOf(size, 448));
  return 256 * (blocks === 1 ? 1 : blocks + 1);
}

/** Gemini 2: 258 for each tile of an image of at most 3,072. A tile's edge is two thirds of the short edge, in whole pixels between 256 and 768: https://ai.google.dev/gemini-api/docs/image-understanding. */
export function cropTokens({ width, height }: Pixels): number {
  const [short, long] = [Math.min(width, height), Math.max(width, height)];
  const scaled = (edge: number): number => Math.min(edge, (3_072 * edge) / long);
  const twoThirds = Math.floor(Math.min((2 * short) / 3, (2_048 * short) / long));
  const tile = Math.min(768, Math.max(256, twoThirds));
  return 258 * squaresOf({ width: scaled(width), height: scaled(height) }, tile);
}
