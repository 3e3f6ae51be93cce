/** Limits the output of a probe, which the provider bills; some models refuse a lower limit. */
export const PROBE_OUTPUT_TOKENS = 16;
export const PROBE_MESSAGES = [{ role: 'user', content: 'Say ok.' }];
