type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Describes the rest of a limit, and after how long there is more. */
export interface StatedLimit {
  readonly remaining: number;
  readonly resetMs: number;
}

export interface StatedLimits {
  readonly requests: StatedLimit | null;
  /** Is the limit with the least left, where there are several. */
  readonly tokens: StatedLimit | null;
}

/** A limit without a stated reset holds for so long: the next answer states it again. */
const RESET_MS = 1_000;

/**
 * Reads what a provider states of its limits: https://platform.openai.com/docs/guides/rate-limits (Azure, Groq, Mistral and others have its names) and
 * https://platform.claude.com/docs/en/api/rate-limits#response-headers. It returns null where the provider states nothing, as most answers do.
 */
export function statedLimits(headers: Headers, nowMs: number): StatedLimits | null {
  const openai = (of: string): StatedLimit | null =>
    limitOf(headers[`x-ratelimit-remaining-${of}`], headers[`x-ratelimit-reset-${of}`], nowMs);
  const anthropic = (of: string): StatedLimit | null =>
    limitOf(
      headers[`anthropic-ratelimit-${of}-remaining`],
      headers[`anthropic-ratelimit-${of}-reset`],
      nowMs,
    );
  const requests = openai('requests') ?? anthropic('requests');
  const tokens = openai('tokens') ?? least(TOKENS.map(anthropic));
  return requests || tokens ? { requests, tokens } : null;
}

const TOKENS = ['tokens', 'input-tokens', 'output-tokens'] as const;

function least(limits: readonly (StatedLimit | null)[]): StatedLimit | null {
  return limits.reduce(
    (one, other) => (one && (!other || one.remaining <= other.remaining) ? one : other),
    null,
  );
}

function limitOf(
  remaining: string | string[] | undefined,
  reset: string | string[] | undefined,
  nowMs: number,
): StatedLimit | null {
  if (typeof remaining !== 'string' || !/^\d{1,15}$/.test(remaining)) return null;
  const resetMs = typeof reset === 'string' ? resetOf(reset, nowMs) : null;
  return { remaining: Number(remaining), resetMs: resetMs ?? RESET_MS };
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/;

/** Reads `6m0s`, `20ms`, seconds, or a moment. */
function resetOf(text: string, nowMs: number): number | null {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1_000;
  if (DURATION.test(text))
    return [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)].reduce(
      (sum, [, count, unit = '']) => sum + Number(count) * (UNITS[unit] ?? 0),
      0,
    );
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}
