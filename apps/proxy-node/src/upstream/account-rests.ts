import { RouteRest, type Failed, type Rest, type RestDump } from './route-rest.ts';

/**
 * Bounds the accounts that one route remembers. While that many rest or failed recently, a further account is treated as healthy, so that no resting
 * account is removed for another one.
 */
export const ACCOUNTS_MAX = 1_000;
/** An older failure no longer says anything about the route. */
export const LATELY_MS = 60_000;
/** After a probe has shown that the route works, an account's failures cause no probe for this long; the time doubles up to the maximum. */
const DISPROVED_MS = 10_000;
const DISPROVED_MS_MAX = 600_000;
/** A full table is swept at most once in this time. */
const SWEEP_MS = 1_000;

interface AccountRest {
  readonly rest: RouteRest;
  failedAt: number;
  disprovedUntil: number;
  disprovedMs: number;
}

/** Holds the accounts whose own requests fail on one route, each with its rest. An account without a failure is absent, so its requests cost one lookup. */
export class AccountRests {
  readonly #accounts = new Map<number, AccountRest>();
  #sweptAt = Number.NEGATIVE_INFINITY;

  waitMs(accountId: number, now: number): number {
    return this.#of(accountId)?.rest.waitMs(now) ?? 0;
  }

  isRateLimited(accountId: number, now: number): boolean {
    return this.#of(accountId)?.rest.isRateLimited(now) ?? false;
  }

  hasFailedLately(accountId: number, now: number): boolean {
    const known = this.#of(accountId);
    return known !== undefined && now - known.failedAt < LATELY_MS;
  }

  /** Returns whether a probe has shown that the route works where this account's requests fail. */
  isDisproved(accountId: number, now: number): boolean {
    const known = this.#of(accountId);
    return known !== undefined && known.disprovedUntil > now;
  }

  failuresInRow(accountId: number): number {
    return this.#of(accountId)?.rest.failuresInRow ?? 0;
  }

  started(accountId: number, now: number): void {
    this.#of(accountId)?.rest.started(now);
  }

  ended(accountId: number): void {
    this.#of(accountId)?.rest.ended();
  }

  answered(accountId: number, now: number): void {
    this.#of(accountId)?.rest.answered(now);
  }

  /** Returns true when the success ends a series of failures that had made the account rest. */
  succeeded(accountId: number, now: number): boolean {
    const known = this.#of(accountId);
    if (!known) return false;
    const isRecovery = known.rest.succeeded();
    known.failedAt = Number.NEGATIVE_INFINITY;
    if (isIdle(known, now)) this.#accounts.delete(accountId);
    return isRecovery;
  }

  /** Returns the rest that begins with this failure; null when none does. */
  failed(accountId: number, failure: Failed): Rest | null {
    const known = this.#ensure(accountId, failure.now);
    if (!known) return null;
    known.failedAt = failure.now;
    return known.rest.failed(failure);
  }

  heard(accountId: number, rest: Rest, at: { now: number; answeredAt: number }): void {
    this.#ensure(accountId, at.now)?.rest.heard(rest, at.now, at.answeredAt);
  }

  /** `accountId` is null for all accounts. */
  heardRecovery(accountId: number | null, now: number): void {
    for (const id of accountId === null ? this.#accounts.keys() : [accountId])
      this.#of(id)?.rest.heardRecovery(now);
  }

  disprove(accountId: number, now: number): void {
    const known = this.#of(accountId);
    if (!known) return;
    const isRepeated = now - known.disprovedUntil < known.disprovedMs;
    known.disprovedMs = isRepeated
      ? Math.min(known.disprovedMs * 2, DISPROVED_MS_MAX)
      : DISPROVED_MS;
    known.disprovedUntil = now + known.disprovedMs;
  }

  /** Clears failures after the route was down for all and works again, because the route caused them. A provider's Retry-After stays. */
  recovered(now: number): void {
    for (const accountId of this.#accounts.keys()) this.succeeded(accountId, now);
  }

  resting(now: number): number[] {
    return [...this.#accounts].filter(([, { rest }]) => rest.waitMs(now) > 0).map(([id]) => id);
  }

  /** Returns the shortest rest among these accounts, or among the known ones; null when one of them has no failure. */
  dumpOf(accountIds: readonly number[], now: number): RestDump | null {
    let best: RestDump | null = null;
    for (const id of accountIds.length > 0 ? accountIds : this.#accounts.keys()) {
      const seen = this.#of(id)?.rest.dump(now);
      if (!seen || seen.why === null) return null;
      if (best === null || seen.open_for_ms < best.open_for_ms) best = seen;
    }
    return best;
  }

  #of(accountId: number): AccountRest | undefined {
    return this.#accounts.size === 0 ? undefined : this.#accounts.get(accountId);
  }

  #ensure(accountId: number, now: number): AccountRest | null {
    const known = this.#of(accountId);
    if (known) return known;
    if (this.#accounts.size >= ACCOUNTS_MAX) this.#sweep(now);
    if (this.#accounts.size >= ACCOUNTS_MAX) return null;
    const added = {
      rest: new RouteRest(),
      failedAt: Number.NEGATIVE_INFINITY,
      disprovedUntil: Number.NEGATIVE_INFINITY,
      disprovedMs: 0,
    };
    this.#accounts.set(accountId, added);
    return added;
  }

  #sweep(now: number): void {
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    for (const [id, known] of this.#accounts) if (isIdle(known, now)) this.#accounts.delete(id);
  }
}

/** Returns whether the entry no longer affects any decision. */
function isIdle(
  { rest, failedAt, disprovedUntil, disprovedMs }: AccountRest,
  now: number,
): boolean {
  return (
    rest.waitMs(now) === 0 && now - failedAt >= LATELY_MS && now - disprovedUntil >= disprovedMs
  );
}
