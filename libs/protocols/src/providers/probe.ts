/** Some models refuse fewer; the provider bills them. */
export const PROBE_OUTPUT_TOKENS = 16;
export const PROBE_MESSAGES = [{ role: 'user', content: 'Say ok.' }];
