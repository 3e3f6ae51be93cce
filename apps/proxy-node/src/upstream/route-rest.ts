/** Is the number of consecutive failures that make a route rest; with fewer, single bad answers would. */
const FAILURES_IN_ROW = 5;
const REST_MS = 5_000;
/** A rest by the fleet's own verdict lasts at most this long: a provider that recovers is tried again soon, and one probe is cheap. */
const REST_MS_MAX = 15_000;
/** A probe without an answer blocks other requests no longer than this, because an answer may take minutes. */
const PROBE_MS_MAX = 15_000;
const COOLDOWN_MS_DEFAULT = 1_000;
/** A provider's Retry-After is obeyed completely; one beyond a day is an error of its clock. */
const COOLDOWN_MS_MAX = 86_400_000;
/** A Retry-After that another node reports counts at most this long, because asking the provider costs one request. */
const HEARD_COOLDOWN_MS_MAX = 300_000;
/** An own answer within this time outweighs another node's verdict, because that node may have lost its connection. */
const OWN_ANSWER_MS = 5_000;

export interface Rest {
  readonly restMs: number;
  /** Is true when the provider named the time, so that no probe ends the rest early. */
  readonly isProviders: boolean;
  /** Is true when the provider limits requests, rather than being overloaded. */
  readonly isRateLimit?: boolean;
}

export interface RestDump {
  failures_in_row: number;
  open_for_ms: number;
  cooling_for_ms: number;
  why: string | null;
}

/** Describes a failed attempt as far as it concerns its route. `why` is the kind of the failure. */
export interface Failed {
  readonly why: string;
  /** Is true when every other request would fail in the same way, as with a refused key: one failure then causes a rest. */
  readonly isCertain?: boolean;
  readonly retryAfterMs: number | null;
  readonly now: number;
}

/**
 * Decides whether one account or all avoid one route now. There are two reasons: failures, for at most 15 s and ended by one request that tries the
 * route; and the provider's Retry-After, for as long as it says. Rate limits are kept per route, too, because providers count them per model.
 */
export class RouteRest {
  #failuresInRow = 0;
  /** Is 0 while the route is healthy. When it is in the past, the next request is the probe. */
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

  /** Returns whether its rest is over and nothing has shown yet that the route is healthy. */
  isOnTrial(now: number): boolean {
    return this.#restUntil > 0 && this.#restUntil <= now;
  }

  /** Returns the ms until the route may be tried; 0 means now. */
  waitMs(now: number): number {
    return Math.max(this.#restUntil - now, this.#probeUntil - now, this.#cooldownUntil - now, 0);
  }

  /** Returns true when the provider's rate limit is the reason for waiting. */
  isRateLimited(now: number): boolean {
    return (
      this.#isRateLimit &&
      this.#cooldownUntil > now &&
      this.waitMs(now) === this.#cooldownUntil - now
    );
  }

  /** The first request after a rest is the probe; no other is sent until its answer begins. */
  started(now: number): void {
    if (this.#restUntil > 0) this.#probeUntil = now + PROBE_MS_MAX;
  }

  ended(): void {
    this.#probeUntil = 0;
  }

  /** Notes that an answer has begun: after the probe's, other requests may go. A failure before a success makes the route rest again at once. */
  answered(now: number): void {
    this.#answeredAt = now;
    this.#probeUntil = 0;
    this.#restUntil = 0;
  }

  /** Returns true when the success ends a series of failures that had made the route rest. */
  succeeded(): boolean {
    const isRecovery = this.#failuresInRow >= FAILURES_IN_ROW;
    this.#clear();
    return isRecovery;
  }

  /** Returns the rest that begins with this failure; null when none does, or one has begun earlier. */
  failed({ why, isCertain = false, retryAfterMs, now }: Failed): Rest | null {
    this.#why = why;
    const cooldown = this.#coolDown(cooldownOf(why, retryAfterMs), why === 'rate_limited', now);
    // A provider that says when to return is not broken.
    if (why === 'rate_limited') return cooldown;
    // The failure of the request that tried the route after its rest is also enough.
    const isEnough = isCertain || this.#restUntil > 0;
    this.#failuresInRow = Math.max(this.#failuresInRow + 1, isEnough ? FAILURES_IN_ROW : 0);
    return this.#failuresInRow < FAILURES_IN_ROW ? cooldown : (this.#rest(now) ?? cooldown);
  }

  /** `answeredAt` is the time at which the route last answered this node. */
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
    // An attempt that was running when the rest began says nothing new.
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

/** A rate limit without Retry-After gets a short cooldown; for other failures only a Retry-After counts. */
function cooldownOf(why: string, retryAfterMs: number | null): number {
  if (why === 'rate_limited') return retryAfterMs ?? COOLDOWN_MS_DEFAULT;
  return why === 'overloaded' ? (retryAfterMs ?? 0) : 0;
}
