/** The sliding windows in which the requests of a key are limited. Their names are names of limits, too. */
export const RATE_WINDOWS = [
  { name: 'rpm', seconds: 60, of: 'a minute' },
  { name: 'rph', seconds: 3_600, of: 'an hour' },
  { name: 'rpd', seconds: 86_400, of: 'a day' },
] as const;
type WindowRow = (typeof RATE_WINDOWS)[number];
export type RateWindow = WindowRow['name'];
export const WINDOW_NAMES: readonly RateWindow[] = RATE_WINDOWS.map(({ name }) => name);

/**
 * The limits that a key can have, with what each counts. The rows of keys, accounts and the installation keep them as one JSON value by name,
 * so a further limit changes no table of the database. 0 = no limit.
 */
export const KEY_LIMITS = RATE_WINDOWS.map(({ name, of }) => ({ name, counts: `Requests ${of}` }));
export type KeyLimit = (typeof KEY_LIMITS)[number]['name'];
export type KeyLimits = Record<KeyLimit, number>;
export const LIMIT_NAMES: readonly KeyLimit[] = KEY_LIMITS.map(({ name }) => name);

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
