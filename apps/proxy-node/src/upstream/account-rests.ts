import { RouteRest, type Failed, type Rest, type RestDump } from './route-rest.ts';

/**
 * Accounts that one route remembers. While so many rest or failed lately, a further one is tried as if it were well: no account that rests is forgotten
 * for another's sake.
 */
export const ACCOUNTS_MAX = 1_000;
/** After so long a failure says nothing of the route any more. */
export const LATELY_MS = 60_000;
/** So long an account's failures are no reason for a probe, once a probe has shown that the route works; twice as long each time, up to the most. */
const DISPROVED_MS = 10_000;
const DISPROVED_MS_MAX = 600_000;
/** A full table is looked through once in so long. */
const SWEEP_MS = 1_000;

interface AccountRest {
  readonly rest: RouteRest;
  failedAt: number;
  disprovedUntil: number;
  disprovedMs: number;
}

/** The accounts whose own requests fail on one route, each with its rest. An account without a failure is not in it, so that its requests cost a look into a table. */
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

  /** A probe has shown that the route works where this account's requests fail. */
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

  /** True when that ends a series of failures that had made the account rest. */
  succeeded(accountId: number, now: number): boolean {
    const known = this.#of(accountId);
    if (!known) return false;
    const isRecovery = known.rest.succeeded();
    known.failedAt = Number.NEGATIVE_INFINITY;
    if (isIdle(known, now)) this.#accounts.delete(accountId);
    return isRecovery;
  }

  /** The rest that begins with this failure; null when none does. */
  failed(accountId: number, failure: Failed): Rest | null {
    const known = this.#ensure(accountId, failure.now);
    if (!known) return null;
    known.failedAt = failure.now;
    return known.rest.failed(failure);
  }

  heard(accountId: number, rest: Rest, at: { now: number; answeredAt: number }): void {
    this.#ensure(accountId, at.now)?.rest.heard(rest, at.now, at.answeredAt);
  }

  /** `accountId` null: for all. */
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

  /** The route was down for all and is up: what failed meanwhile was the route's doing. A provider's Retry-After stays. */
  recovered(now: number): void {
    for (const accountId of this.#accounts.keys()) this.succeeded(accountId, now);
  }

  resting(now: number): number[] {
    return [...this.#accounts].filter(([, { rest }]) => rest.waitMs(now) > 0).map(([id]) => id);
  }

  /** Returns the rest of the account that is best off among these, or of the best one known; null if one of them has seen no failure. */
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

/** Nothing of it decides anything any more. */
function isIdle(
  { rest, failedAt, disprovedUntil, disprovedMs }: AccountRest,
  now: number,
): boolean {
  return (
    rest.waitMs(now) === 0 && now - failedAt >= LATELY_MS && now - disprovedUntil >= disprovedMs
  );
}
