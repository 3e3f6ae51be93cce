/**
 * Usage normal form (docs/design/protocols.md#usage): what the upstream reported, by arithmetic, in four disjoint billable classes.
 * All values are non-negative safe integers, in tokens.
 */
export interface TokenUsage {
  /** Prompt tokens that were neither read from nor written to a cache. */
  input: number;
  cacheRead: number;
  /** All cache writes; 5-minute and 1-hour writes are priced alike. */
  cacheWrite: number;
  /** Every generated token, reasoning included. */
  output: number;
  /** Subset of `output`; informative, never billed a second time. */
  reasoning: number;
}

export const NO_USAGE: TokenUsage = Object.freeze({
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  output: 0,
  reasoning: 0,
});

/** Where a charge comes from: the upstream's own report, or the gateway's count where it reported nothing. */
export type ChargeBasis = 'reported' | 'estimated';
