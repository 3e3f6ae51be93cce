import { RATE_WINDOWS } from '@tollgate/contracts';
import type { WindowState } from '@tollgate/keyspace';

const WINDOW_SECONDS = new Map(RATE_WINDOWS.map(({ name, seconds }) => [name, seconds]));

/**
 * What an answer says of the key's request limits: OpenAI's names for the tightest window, and all windows by draft-ietf-httpapi-ratelimit-headers-10
 * (still a draft, so it is written here and nowhere else). `retryAfterMs` is the exact wait of a denied request. Empty for a key without limits.
 */
export function rateLimitHeaders(
  windows: readonly WindowState[],
  retryAfterMs: number | null = null,
): Record<string, string> {
  const tightest = windows.reduce<WindowState | null>(
    (best, window) => (best === null || isTighter(window, best) ? window : best),
    null,
  );
  if (tightest === null) return {};
  const resetMs = retryAfterMs ?? tightest.resetMs;
  return {
    'x-ratelimit-limit-requests': String(tightest.limit),
    'x-ratelimit-remaining-requests': String(tightest.remaining),
    'x-ratelimit-reset-requests': `${resetMs / 1000}s`,
    'ratelimit-policy': windows
      .map(({ window, limit }) => `"${window}";q=${limit};w=${WINDOW_SECONDS.get(window)}`)
      .join(', '),
    ratelimit: `"${tightest.window}";r=${tightest.remaining};t=${Math.ceil(resetMs / 1000)}`,
  };
}

/** Fewer left is tighter; among equals the one that takes longer to return. */
function isTighter(one: WindowState, other: WindowState): boolean {
  return one.remaining === other.remaining
    ? one.resetMs > other.resetMs
    : one.remaining < other.remaining;
}
