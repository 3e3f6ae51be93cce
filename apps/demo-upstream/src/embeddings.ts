import type { DemoRequest } from './plan.ts';

const DIMENSIONS = 8;

/** Returns vectors derived from the input, so the same input gives the same vector; base64 (little-endian float32) when asked for. */
export function embeddingsAnswer(request: DemoRequest, promptTokens: number): unknown {
  const inputs = inputsOf(request.input);
  return {
    object: 'list',
    data: inputs.map((input, index) => ({
      object: 'embedding',
      index,
      embedding: encode(vectorOf(JSON.stringify(input)), request.encoding_format),
    })),
    model: request.model,
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
  };
}

/** Returns the vectors of `embeddingsAnswer` as floats. */
export function vectorsOf(input: unknown): number[][] {
  return inputsOf(input).map((each) => vectorOf(JSON.stringify(each)));
}

/** Counts one for each token of an array; texts were counted by the caller. */
export function tokenArrayLength(input: unknown): number {
  return Array.isArray(input) ? input.flat(1).filter((item) => typeof item === 'number').length : 0;
}

function inputsOf(input: unknown): unknown[] {
  return Array.isArray(input) && typeof input[0] !== 'number' ? input : [input];
}

function vectorOf(text: string): number[] {
  return Array.from({ length: DIMENSIONS }, (_, index) =>
    Math.fround(
      Math.sin(
        text.length * (index + 1) + (text.codePointAt(index % Math.max(1, text.length)) ?? 0),
      ),
    ),
  );
}

function encode(vector: number[], format: string | undefined): number[] | string {
  return format === 'base64'
    ? Buffer.from(new Float32Array(vector).buffer).toString('base64')
    : vector;
}
