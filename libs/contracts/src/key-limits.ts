/** Lists the sliding windows that limit a key or an account, with what each counts. Their names are also names of limits. */
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

/** Lists the bounds of each request of a key and of its concurrency. lua/shared/limits.lua knows each of them. */
const BOUNDS = [
  { name: 'concurrency', says: 'Requests that run at a time' },
  { name: 'max_input_tokens', says: 'Tokens of a prompt' },
  { name: 'max_output_tokens', says: 'Tokens of an answer' },
] as const;
export const BOUND_NAMES = BOUNDS.map(({ name }) => name);

/**
 * Lists all limits of a key. The rows of keys, accounts and the installation store them as one JSON value by name, so a further limit changes no
 * table of the database. 0 means no limit.
 */
export const KEY_LIMITS = [...RATE_WINDOWS, ...BOUNDS].map(({ name, says }) => ({ name, says }));
export type KeyLimit = (typeof KEY_LIMITS)[number]['name'];
export type KeyLimits = Record<KeyLimit, number>;
export const LIMIT_NAMES: readonly KeyLimit[] = KEY_LIMITS.map(({ name }) => name);

/** Describes a rate for some models, or of an account over all its keys. */
export interface Rate {
  window: RateWindow;
  limit: number;
  /** Holds model names with `*`, separated by commas; an empty text means all. */
  models: string;
  /** Is true when a rate of tokens counts cache reads. */
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

/** Returns these fields under the names of an account's ceilings. */
export function ceilingFields<Value>(
  valueOf: (name: KeyLimit) => Value,
): Record<`${KeyLimit}_ceiling`, Value> {
  return Object.fromEntries(
    LIMIT_NAMES.map((name) => [`${name}_ceiling`, valueOf(name)]),
  ) as Record<`${KeyLimit}_ceiling`, Value>;
}
