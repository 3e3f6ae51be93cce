/** Failures in a row that make a route rest: fewer would let one bad answer take a route away. */
const FAILURES_IN_ROW = 5;
const REST_MS = 5_000;
/** The longest a verdict of the fleet's own keeps a route away: a provider that recovers is asked again soon, and one probe is cheap. */
const REST_MS_MAX = 15_000;
/** A probe that is still without an answer after this long keeps no other request away: an answer may take minutes. */
const PROBE_MS_MAX = 15_000;
const COOLDOWN_MS_DEFAULT = 1_000;
/** A provider's Retry-After is obeyed in full; one beyond a day is a mistake of its clock. */
const COOLDOWN_MS_MAX = 86_400_000;
/** A Retry-After that another node reports counts for so long at most: asking the provider itself costs one request. */
const HEARD_COOLDOWN_MS_MAX = 300_000;
/** An answer of so short a time ago outweighs another node's verdict: that node may be the one that is cut off. */
const OWN_ANSWER_MS = 5_000;

export interface Rest {
  readonly restMs: number;
  /** The provider named the time itself: no probe ends it early. */
  readonly isProviders: boolean;
  /** It limits requests, rather than being overloaded. */
  readonly isRateLimit?: boolean;
}

export interface RestDump {
  failures_in_row: number;
  open_for_ms: number;
  cooling_for_ms: number;
  why: string | null;
}

/** A failed attempt, as far as it says something of its route. `why`: the kind of the failure. */
export interface Failed {
  readonly why: string;
  /** Every other request would fail in the same way, as with a key that is refused: one failure is enough for a rest. */
  readonly isCertain?: boolean;
  readonly retryAfterMs: number | null;
  readonly now: number;
}

/**
 * Knows if one account or all leave one route alone for now. Two reasons: its failures, for at most 15 s, ended by one request that tries it; and
 * its provider's Retry-After, for as long as that says. Rate limits are kept per route too: providers count them per model.
 */
export class RouteRest {
  #failuresInRow = 0;
  /** 0 while the route is well. In the past: the next request is the probe. */
  #restUntil = 0;
  #restMs = REST_MS;
  #probeUntil = 0;
  #cooldownUntil = 0;
  #isRateLimit = false;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #why: string | null = null;

  get failuresInRow(): number {
    return this.#failuresInRow;
  }

  get answeredAt(): number {
    return this.#answeredAt;
  }

  /** Its rest is over, and nothing has shown yet that the route is well. */
  isOnTrial(now: number): boolean {
    return this.#restUntil > 0 && this.#restUntil <= now;
  }

  /** ms until the route may be tried; 0 = now. */
  waitMs(now: number): number {
    return Math.max(this.#restUntil - now, this.#probeUntil - now, this.#cooldownUntil - now, 0);
  }

  /** True if the route must be waited for because of its provider's rate limit. */
  isRateLimited(now: number): boolean {
    return (
      this.#isRateLimit &&
      this.#cooldownUntil > now &&
      this.waitMs(now) === this.#cooldownUntil - now
    );
  }

  /** The first request after a rest is the probe; until its answer begins no other goes. */
  started(now: number): void {
    if (this.#restUntil > 0) this.#probeUntil = now + PROBE_MS_MAX;
  }

  ended(): void {
    this.#probeUntil = 0;
  }

  /** An answer has begun: if it is the probe's, others may go. A failure before a success makes the route rest again at once. */
  answered(now: number): void {
    this.#answeredAt = now;
    this.#probeUntil = 0;
    this.#restUntil = 0;
  }

  /** True when that ends a series of failures that had made the route rest. */
  succeeded(): boolean {
    const isRecovery = this.#failuresInRow >= FAILURES_IN_ROW;
    this.#clear();
    return isRecovery;
  }

  /** The rest that begins with this failure; null when none does, or one has begun before. */
  failed({ why, isCertain = false, retryAfterMs, now }: Failed): Rest | null {
    this.#why = why;
    const cooldown = this.#coolDown(cooldownOf(why, retryAfterMs), why === 'rate_limited', now);
    // A provider that says when to return is not broken.
    if (why === 'rate_limited') return cooldown;
    // So is the failure of the request that tried the route after its rest.
    const isEnough = isCertain || this.#restUntil > 0;
    this.#failuresInRow = Math.max(this.#failuresInRow + 1, isEnough ? FAILURES_IN_ROW : 0);
    return this.#failuresInRow < FAILURES_IN_ROW ? cooldown : (this.#rest(now) ?? cooldown);
  }

  /** `answeredAt`: when the route last answered this node. */
  heard(
    { restMs, isProviders, isRateLimit = false }: Rest,
    now: number,
    answeredAt = this.#answeredAt,
  ): void {
    if (isProviders) this.#coolDown(Math.min(restMs, HEARD_COOLDOWN_MS_MAX), isRateLimit, now);
    // In doubt the next request is a probe.
    else if (now - answeredAt < OWN_ANSWER_MS) this.#restUntil = Math.max(this.#restUntil, now);
    else this.#restUntil = Math.max(this.#restUntil, now + Math.min(restMs, REST_MS_MAX));
  }

  /** A failure that this node has seen itself counts until its own probe, which may start now. */
  heardRecovery(now: number): void {
    if (this.#failuresInRow < FAILURES_IN_ROW) this.#clear();
    else this.#restUntil = Math.min(this.#restUntil, now);
  }

  dump(now: number): RestDump {
    return {
      failures_in_row: this.#failuresInRow,
      open_for_ms: Math.max(0, this.#restUntil - now),
      cooling_for_ms: Math.max(0, this.#cooldownUntil - now),
      why: this.#why,
    };
  }

  #rest(now: number): Rest | null {
    // An attempt that was in progress when the rest began brings no news.
    if (this.#restUntil > now) return null;
    const restMs = this.#restMs;
    this.#restUntil = now + restMs;
    this.#restMs = Math.min(restMs * 2, REST_MS_MAX);
    return { restMs, isProviders: false, isRateLimit: false };
  }

  #coolDown(ms: number, isRateLimit: boolean, now: number): Rest | null {
    if (ms === 0) return null;
    const isBegun = this.#cooldownUntil > now;
    const until = now + Math.min(ms, COOLDOWN_MS_MAX);
    if (!isBegun || until > this.#cooldownUntil) this.#isRateLimit = isRateLimit;
    this.#cooldownUntil = Math.max(this.#cooldownUntil, until);
    return isBegun ? null : { restMs: ms, isProviders: true, isRateLimit };
  }

  #clear(): void {
    this.#failuresInRow = 0;
    this.#restUntil = 0;
    this.#restMs = REST_MS;
    this.#probeUntil = 0;
    this.#why = null;
  }
}

/** A rate limit without Retry-After is given a moment; of other failures only a Retry-After counts. */
function cooldownOf(why: string, retryAfterMs: number | null): number {
  if (why === 'rate_limited') return retryAfterMs ?? COOLDOWN_MS_DEFAULT;
  return why === 'overloaded' ? (retryAfterMs ?? 0) : 0;
}
