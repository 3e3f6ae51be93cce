import { RATE_WINDOWS } from '@tollgate/contracts';
import type { RateName, WindowState } from '@tollgate/keyspace';

type Counts = (typeof RATE_WINDOWS)[number]['counts'];
const WINDOWS = new Map(RATE_WINDOWS.map((row) => [row.name, row]));
const ALL_COUNTS = [...new Set(RATE_WINDOWS.map(({ counts }) => counts))];

/** A rate that denies a request, and for how long exactly. */
export interface Denied {
  rate: RateName;
  retryAfterMs: number;
}

/**
 * Returns the headers about the limits of a key and its account: OpenAI's names and Anthropic's for the tightest window of requests and of tokens, and all
 * windows by draft-ietf-httpapi-ratelimit-headers-10 (still a draft, so it is written here and nowhere else). Empty for a key without limits.
 */
export function rateLimitHeaders(
  windows: readonly WindowState[],
  { denied = null, nowMs = Date.now() }: { denied?: Denied | null; nowMs?: number } = {},
): Record<string, string> {
  const headers: Record<string, string> = {};
  const tightest: string[] = [];
  for (const counts of ALL_COUNTS) {
    const window = tightestOf(windows, counts);
    if (window === null) continue;
    const isDenied = denied !== null && countsOf(denied.rate) === counts;
    const resetMs = isDenied ? denied.retryAfterMs : window.resetMs;
    headers[`x-ratelimit-limit-${counts}`] = String(window.limit);
    headers[`x-ratelimit-remaining-${counts}`] = String(window.remaining);
    headers[`x-ratelimit-reset-${counts}`] = `${resetMs / 1000}s`;
    // https://docs.anthropic.com/en/api/rate-limits#response-headers
    headers[`anthropic-ratelimit-${counts}-limit`] = String(window.limit);
    headers[`anthropic-ratelimit-${counts}-remaining`] = String(window.remaining);
    headers[`anthropic-ratelimit-${counts}-reset`] = timeAfter(nowMs, resetMs);
    tightest.push(`"${policyOf(window)}";r=${window.remaining};t=${Math.ceil(resetMs / 1000)}`);
  }
  if (tightest.length === 0) return headers;
  headers['ratelimit-policy'] = windows
    .map(
      (window) =>
        `"${policyOf(window)}";q=${window.limit};w=${WINDOWS.get(window.window)?.seconds}`,
    )
    .join(', ');
  headers['ratelimit'] = tightest.join(', ');
  return headers;
}

/** Names a rate in headers and texts. */
function policyOf({ owner, window, models }: RateName): string {
  return [owner === 'account' ? 'account' : '', window, models].filter(Boolean).join(' ');
}

function countsOf({ window }: Pick<RateName, 'window'>): Counts | undefined {
  return WINDOWS.get(window)?.counts;
}

function tightestOf(windows: readonly WindowState[], counts: Counts): WindowState | null {
  return windows
    .filter((window) => countsOf(window) === counts)
    .reduce<WindowState | null>(
      (best, window) => (best === null || isTighter(window, best) ? window : best),
      null,
    );
}

/** Fewer left is tighter; among equals the one that takes longer to return. */
function isTighter(one: WindowState, other: WindowState): boolean {
  return one.remaining === other.remaining
    ? one.resetMs > other.resetMs
    : one.remaining < other.remaining;
}

/** Whole seconds of RFC 3339, rounded up: nothing is back before it. */
function timeAfter(nowMs: number, waitMs: number): string {
  return new Date(Math.ceil((nowMs + waitMs) / 1_000) * 1_000).toISOString().replace('.000', '');
}
