/** Pixels. */
export interface Pixels {
  width: number;
  height: number;
}

/** OpenAI: fits 2,048, then 768 on the short edge; a base, and a figure for each tile of 512: https://platform.openai.com/docs/guides/images-vision. */
export function tileTokens({ width, height }: Pixels, base: number, tile: number): number {
  const fit = Math.min(1, 2_048 / Math.max(width, height));
  const scale = fit * Math.min(1, 768 / (Math.min(width, height) * fit));
  return base + tile * Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512);
}

/** Squares of `edge` pixels that cover an image. */
export function squaresOf({ width, height }: Pixels, edge: number): number {
  return Math.ceil(width / edge) * Math.ceil(height / edge);
}

/** Models of the Pixtral kind: a token for each patch of 28 pixels, and one at the end of each row, scaled to 1,540 on the long edge. */
export function patchTokens({ width, height }: Pixels): number {
  const scale = Math.min(1, 1_540 / Math.max(width, height));
  return Math.ceil((height * scale) / 28) * (Math.ceil((width * scale) / 28) + 1);
}

/** Grok: 256 for each block of 448 pixels, at most six, and one more for the whole where there are several: https://docs.x.ai/docs/guides/image-understanding. */
export function blockTokens(size: Pixels): number {
  const blocks = Math.min(6, squaresOf(size, 448));
  return 256 * (blocks === 1 ? 1 : blocks + 1);
}

/** Gemini 2: 258 for each tile, whose edge is between 256 and 768 pixels, of an image of at most 3,072: https://ai.google.dev/gemini-api/docs/tokens. */
export function cropTokens({ width, height }: Pixels): number {
  const scale = Math.min(1, 3_072 / Math.max(width, height));
  const scaled = { width: width * scale, height: height * scale };
  const edge = Math.min(768, Math.max(256, Math.min(scaled.width, scaled.height) / 1.5));
  return 258 * squaresOf(scaled, edge);
}
