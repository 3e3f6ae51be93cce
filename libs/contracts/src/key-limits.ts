/** The sliding windows in which a key or an account is limited, with what each counts. Their names are names of limits, too. */
export const RATE_WINDOWS = [
  { name: 'rpm', seconds: 60, counts: 'requests', says: 'Requests a minute' },
  { name: 'rph', seconds: 3_600, counts: 'requests', says: 'Requests an hour' },
  { name: 'rpd', seconds: 86_400, counts: 'requests', says: 'Requests a day' },
  { name: 'tpm', seconds: 60, counts: 'tokens', says: 'Tokens a minute' },
  { name: 'tph', seconds: 3_600, counts: 'tokens', says: 'Tokens an hour' },
  { name: 'tpd', seconds: 86_400, counts: 'tokens', says: 'Tokens a day' },
] as const;
export type RateWindow = (typeof RATE_WINDOWS)[number]['name'];
export const WINDOW_NAMES: readonly RateWindow[] = RATE_WINDOWS.map(({ name }) => name);

/** Bounds of each request of a key, and of how many run. lua/shared/limits.lua knows each. */
const BOUNDS = [
  { name: 'concurrency', says: 'Requests that run at a time' },
  { name: 'max_input_tokens', says: 'Tokens of a prompt' },
  { name: 'max_output_tokens', says: 'Tokens of an answer' },
] as const;
export const BOUND_NAMES = BOUNDS.map(({ name }) => name);

/**
 * The limits that a key can have. The rows of keys, accounts and the installation keep them as one JSON value by name, so a further limit changes
 * no table of the database. 0 = no limit.
 */
export const KEY_LIMITS = [...RATE_WINDOWS, ...BOUNDS].map(({ name, says }) => ({ name, says }));
export type KeyLimit = (typeof KEY_LIMITS)[number]['name'];
export type KeyLimits = Record<KeyLimit, number>;
export const LIMIT_NAMES: readonly KeyLimit[] = KEY_LIMITS.map(({ name }) => name);

/** A rate beside those by name: for some models, or of an account over all its keys. */
export interface Rate {
  window: RateWindow;
  limit: number;
  /** Names of models with `*`, separated by commas; '' = all. */
  models: string;
  /** Rates of tokens count what was read from a cache. */
  countsCacheReads: boolean;
}

/** Returns one field for each limit, in the table's order. */
export function limitFields<Value>(
  valueOf: (name: KeyLimit, row: (typeof KEY_LIMITS)[number]) => Value,
): Record<KeyLimit, Value> {
  return Object.fromEntries(KEY_LIMITS.map((row) => [row.name, valueOf(row.name, row)])) as Record<
    KeyLimit,
    Value
  >;
}

/** Returns the same under the names that the ceilings of an account have. */
export function ceilingFields<Value>(
  valueOf: (name: KeyLimit) => Value,
): Record<`${KeyLimit}_ceiling`, Value> {
  return Object.fromEntries(
    LIMIT_NAMES.map((name) => [`${name}_ceiling`, valueOf(name)]),
  ) as Record<`${KeyLimit}_ceiling`, Value>;
}
