/** The sliding windows in which requests of a key are limited: a minute, an hour and a day. Names are columns of keys and accounts too. */
export const REQUEST_WINDOWS = [
  { name: 'rpm', seconds: 60, of: 'a minute' },
  { name: 'rph', seconds: 3_600, of: 'an hour' },
  { name: 'rpd', seconds: 86_400, of: 'a day' },
] as const;
type WindowRow = (typeof REQUEST_WINDOWS)[number];
export type RequestWindow = WindowRow['name'];
/** Requests that each window admits; 0 = no limit. */
export type RequestLimits = Record<RequestWindow, number>;

export const WINDOW_NAMES: readonly RequestWindow[] = REQUEST_WINDOWS.map(({ name }) => name);

/** One field for each window, in the table's order. */
export function windowFields<Value>(
  valueOf: (name: RequestWindow, row: WindowRow) => Value,
): Record<RequestWindow, Value> {
  return Object.fromEntries(
    REQUEST_WINDOWS.map((row) => [row.name, valueOf(row.name, row)]),
  ) as Record<RequestWindow, Value>;
}
