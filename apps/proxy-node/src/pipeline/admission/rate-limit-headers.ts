import { RATE_WINDOWS } from '@tollgate/contracts';
import type { RateName, WindowState } from '@tollgate/keyspace';

type Counts = (typeof RATE_WINDOWS)[number]['counts'];
const WINDOWS = new Map(RATE_WINDOWS.map((row) => [row.name, row]));
/** Holds the names of the headers for each thing that windows count; https://docs.anthropic.com/en/api/rate-limits#response-headers has the second half. */
const ROWS = [...new Set(RATE_WINDOWS.map(({ counts }) => counts))].map((counts) => ({
  counts,
  limit: `x-ratelimit-limit-${counts}`,
  remaining: `x-ratelimit-remaining-${counts}`,
  reset: `x-ratelimit-reset-${counts}`,
  anthropicLimit: `anthropic-ratelimit-${counts}-limit`,
  anthropicRemaining: `anthropic-ratelimit-${counts}-remaining`,
  anthropicReset: `anthropic-ratelimit-${counts}-reset`,
}));

/** Names a rate that denies a request, and for how long exactly. */
export interface Denied {
  rate: RateName;
  retryAfterMs: number;
}

/**
 * Returns the headers about the limits of a key and its account: OpenAI's names and Anthropic's for the tightest window of requests and of tokens, and all
 * windows by draft-ietf-httpapi-ratelimit-headers-10 (still a draft, so it is written here and nowhere else). It is empty for a key without limits.
 */
export function rateLimitHeaders(
  windows: readonly WindowState[],
  { denied = null, nowMs = Date.now() }: { denied?: Denied | null; nowMs?: number } = {},
): Record<string, string> {
  const headers: Record<string, string> = {};
  let tightest = '';
  for (const row of ROWS) {
    const window = tightestOf(windows, row.counts);
    if (window === null) continue;
    const isDenied = denied !== null && countsOf(denied.rate) === row.counts;
    const resetMs = isDenied ? denied.retryAfterMs : window.resetMs;
    const limit = String(window.limit);
    const remaining = String(window.remaining);
    headers[row.limit] = limit;
    headers[row.remaining] = remaining;
    headers[row.reset] = `${resetMs / 1000}s`;
    headers[row.anthropicLimit] = limit;
    headers[row.anthropicRemaining] = remaining;
    headers[row.anthropicReset] = timeAfter(nowMs, resetMs);
    tightest += `${tightest && ', '}"${policyOf(window)}";r=${remaining};t=${Math.ceil(resetMs / 1000)}`;
  }
  if (tightest === '') return headers;
  let policy = '';
  for (const window of windows)
    policy += `${policy && ', '}"${policyOf(window)}";q=${window.limit};w=${WINDOWS.get(window.window)?.seconds}`;
  headers['ratelimit-policy'] = policy;
  headers['ratelimit'] = tightest;
  return headers;
}

/** Names a rate in headers and texts. */
function policyOf({ owner, window, models }: RateName): string {
  return `${owner === 'account' ? 'account ' : ''}${window}${models && ` ${models}`}`;
}

function countsOf({ window }: Pick<RateName, 'window'>): Counts | undefined {
  return WINDOWS.get(window)?.counts;
}

function tightestOf(windows: readonly WindowState[], counts: Counts): WindowState | null {
  let best: WindowState | null = null;
  for (const window of windows)
    if (countsOf(window) === counts && (best === null || isTighter(window, best))) best = window;
  return best;
}

/** Fewer left is tighter; among equals the one that takes longer to return. */
function isTighter(one: WindowState, other: WindowState): boolean {
  return one.remaining === other.remaining
    ? one.resetMs > other.resetMs
    : one.remaining < other.remaining;
}

let lastSecond = Number.NaN;
let lastTime = '';

/** Writes whole seconds of RFC 3339, rounded up: nothing is back before it. Requests of one second have it once. */
function timeAfter(nowMs: number, waitMs: number): string {
  const second = Math.ceil((nowMs + waitMs) / 1_000);
  if (second !== lastSecond) lastTime = new Date(second * 1_000).toISOString().replace('.000', '');
  lastSecond = second;
  return lastTime;
}
