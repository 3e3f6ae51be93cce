import { LATELY_MS } from './account-rests.ts';

/** When this many accounts fail and a probe fails, too, the route rests for all; fewer are enough where fewer have used the route recently. */
const AGREEING = 3;
/** A probe is worth its cost when this many accounts fail. The failures of one account rest only that account, which needs no probe. */
const SUSPECTING = 2;
const NEVER = Number.NEGATIVE_INFINITY;

/**
 * Holds the accounts that used one route last, and those that failed there since it last answered any. Its size is fixed, so noting a request
 * allocates nothing.
 */
export class RouteWitnesses {
  /** Holds the accounts that used the route last, the latest first. */
  readonly #users: number[] = [0, 0, 0];
  readonly #usedAt: number[] = [NEVER, NEVER, NEVER];
  readonly #failing: number[] = [];
  readonly #failedAt: number[] = [];

  used(accountId: number, now: number): void {
    if (this.#users[0] !== accountId) {
      if (this.#users[1] !== accountId) this.#move(1, 2);
      this.#move(0, 1);
      this.#users[0] = accountId;
    }
    this.#usedAt[0] = now;
  }

  failed(accountId: number, now: number): void {
    const place = this.#failing.indexOf(accountId);
    if (place >= 0) this.#failedAt[place] = now;
    else if (this.#failing.length < AGREEING) {
      this.#failing.push(accountId);
      this.#failedAt.push(now);
    } else {
      const oldest = this.#failedAt.indexOf(Math.min(...this.#failedAt));
      this.#failing[oldest] = accountId;
      this.#failedAt[oldest] = now;
    }
  }

  /** The route has answered one of them. */
  clear(): void {
    if (this.#failing.length === 0) return;
    this.#failing.length = 0;
    this.#failedAt.length = 0;
  }

  /** Ignores this account's requests as witnesses of the route for now. */
  forget(accountId: number): void {
    for (const place of [0, 1, 2])
      if (this.#users[place] === accountId) this.#usedAt[place] = NEVER;
  }

  /** Returns the accounts that failed recently, since the route last answered any. */
  failing(now: number): number[] {
    return this.#failing.filter((_, place) => isLately(this.#failedAt[place], now));
  }

  /** Returns the accounts that used the route last, within the last minute. */
  users(now: number): number[] {
    return this.#users.filter((_, place) => isLately(this.#usedAt[place], now));
  }

  areSuspecting(now: number): boolean {
    return this.failing(now).length >= SUSPECTING;
  }

  /** Returns true when three accounts fail, or all that used the route recently. */
  areAgreed(now: number): boolean {
    const failing = this.failing(now).length;
    return failing >= SUSPECTING && failing >= Math.min(AGREEING, this.users(now).length);
  }

  #move(from: number, to: number): void {
    this.#users[to] = this.#users[from] ?? 0;
    this.#usedAt[to] = this.#usedAt[from] ?? NEVER;
  }
}

function isLately(at: number | undefined, now: number): boolean {
  return at !== undefined && now - at < LATELY_MS;
}
