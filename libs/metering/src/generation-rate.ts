/** Holds the usual rate at which the models of a family generate, including hidden reasoning. */
export interface GenerationRate {
  family: string;
  /** Matches the upstream model's name; the first row that matches applies. */
  pattern: RegExp;
  tokensPerSecond: number;
  source: string;
  /** Is the date on which the source was read. */
  asOf: string;
}

const MEASURED = 'https://artificialanalysis.ai/models';

/** The figures are published medians; where providers differ, the spread covers the faster one. */
export const GENERATION_RATES: readonly GenerationRate[] = [
  {
    family: 'o mini',
    pattern: /(?:^|[/.])o\d+-mini/i,
    tokensPerSecond: 180,
    source:
      'https://community.openai.com/t/inference-speed-of-different-models/1307310: 166 to 191',
    asOf: '2026-11',
  },
  {
    family: 'o',
    pattern: /(?:^|[/.])o\d/i,
    tokensPerSecond: 110,
    source: `${MEASURED}/o3/providers: 83 and 108`,
    asOf: '2026-11',
  },
  {
    family: 'gpt-5 and later',
    pattern: /(?:^|[/.])gpt-[5-9]/i,
    tokensPerSecond: 100,
    source: `${MEASURED}/gpt-5-minimal/providers: 80 and 155`,
    asOf: '2026-11',
  },
  {
    family: 'gpt-4 and earlier',
    pattern: /(?:^|[/.])(?:gpt-[34]|chatgpt-)/i,
    tokensPerSecond: 80,
    source: `${MEASURED}/gpt-4o-2024-05-13/providers: 81 and 115; gpt-4-1-mini/providers: 77 and 108`,
    asOf: '2026-11',
  },
];

/** A model with an unknown name may be any of the known models. */
const LARGEST = Math.max(...GENERATION_RATES.map(({ tokensPerSecond }) => tokensPerSecond));

/** A run may be faster or slower than its rate by this factor. */
export const GENERATION_RATE_SPREAD = 3;

/** Returns the tokens per second that a model of this name usually generates. */
export function generationRate(upstreamModel: string): number {
  const row = GENERATION_RATES.find(({ pattern }) => pattern.test(upstreamModel));
  return row?.tokensPerSecond ?? LARGEST;
}

/**
 * Returns the most that a run has generated in this time, for a provider that never reports it, so that a run that its caller ends is charged in full
 * up to `GENERATION_RATE_SPREAD` times the usual rate. `usualTokens` uses the model's own observed rate where that is higher.
 */
export function generatedAtMost(
  runningMs: number,
  { upstreamModel, usualTokens }: { upstreamModel: string; usualTokens: number },
): number {
  const byRate = (Math.max(0, runningMs) / 1_000) * generationRate(upstreamModel);
  return Math.ceil(GENERATION_RATE_SPREAD * Math.max(byRate, usualTokens));
}
