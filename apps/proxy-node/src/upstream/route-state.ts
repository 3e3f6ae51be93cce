import type { ClientProtocol } from '@tollgate/protocols';
import { AccountRests } from './account-rests.ts';
import { RouteRest, type Failed, type Rest } from './route-rest.ts';
import { RouteWitnesses } from './route-witnesses.ts';

/** A healthy provider that one account provokes gets at most one probe in this time. */
const PROBE_EVERY_MS = 1_000;
/** A probe without a result after this time counts as lost. */
const PROBE_MS_MAX = 20_000;
/** A failed probe counts for the route for this long: the next failing accounts need no other probe. */
const PROBE_COUNTS_MS = 2_000;
/** A request that may not try the route itself waits this long for the probe. */
const PROBE_WAIT_MS = 1_000;

export interface FailureSeen extends Failed {
  /** Is true when no connection was made. No request can cause that, so it counts for all accounts. */
  readonly isUnreached?: boolean;
  /** Is the protocol of the request, and of a probe that asks the same. */
  readonly protocol: ClientProtocol;
}

/** Describes a rest that began here. `accountId` is null for all accounts. */
export interface RestOf extends Rest {
  readonly accountId: number | null;
  readonly failuresInRow: number;
  readonly why: string;
}

export interface RouteEvents {
  onRested(rest: RestOf): void;
  onRecovered(accountId: number | null): void;
  /** Is called when a synthetic request is due; `probed` takes its result. */
  onProbeDue(protocol: ClientProtocol): void;
}

/**
 * Holds this process' knowledge of one route. A request's failure rests the route for its own account, because a caller can provoke it. The route
 * rests for all accounts where no connection is made, which no caller can provoke, or where several accounts fail and a probe, a fixed request of the
 * gateway, fails too.
 */
export class RouteState {
  readonly #shared = new RouteRest();
  readonly #accounts = new AccountRests();
  readonly #witnesses = new RouteWitnesses();
  readonly #events: RouteEvents;
  /** Is true when a probe caused the rest for all, which then ends by a probe: failing requests may be their caller's doing. */
  #isConvicted = false;
  #failedProbe: FailureSeen | null = null;
  #probedAt = Number.NEGATIVE_INFINITY;
  #probingUntil = Number.NEGATIVE_INFINITY;
  /** Is the protocol of the last request that failed here. It is null when no probe can ask the same; requests then try the route. */
  #protocol: ClientProtocol | null = null;

  constructor(events: RouteEvents) {
    this.#events = events;
  }

  /** Returns the ms until the account may try the route; 0 means now. Asking for a route whose rest is over starts a probe. */
  waitMs(accountId: number, now: number): number {
    const shared = this.#shared.waitMs(now);
    const own = this.#accounts.waitMs(accountId, now);
    if (shared > 0 || !this.#isAwaitingProbe(now)) return Math.max(shared, own);
    if (!this.#accounts.hasFailedLately(accountId, now)) return own;
    this.#wantProbe(now);
    return Math.max(own, PROBE_WAIT_MS);
  }

  isRateLimited(accountId: number, now: number): boolean {
    const shared = this.#shared.waitMs(now);
    const own = this.#accounts.waitMs(accountId, now);
    return shared >= own
      ? this.#shared.isRateLimited(now)
      : this.#accounts.isRateLimited(accountId, now);
  }

  started(accountId: number, now: number): void {
    if (this.#isAwaitingProbe(now)) this.#wantProbe(now);
    this.#shared.started(now);
    this.#accounts.started(accountId, now);
    if (!this.#accounts.isDisproved(accountId, now)) this.#witnesses.used(accountId, now);
  }

  ended(accountId: number): void {
    this.#shared.ended();
    this.#accounts.ended(accountId);
  }

  answered(accountId: number, now: number): void {
    // After a failed probe one head of an answer is not enough, because its caller's next request may fail again.
    if (!this.#needsProbe) this.#shared.answered(now);
    this.#accounts.answered(accountId, now);
  }

  succeeded(accountId: number, now: number): void {
    this.#witnesses.clear();
    this.#failedProbe = null;
    this.#isWell(now);
    if (this.#accounts.succeeded(accountId, now)) this.#events.onRecovered(accountId);
  }

  failed(accountId: number, failure: FailureSeen): void {
    const { now } = failure;
    if (failure.isUnreached) return this.#restForAll(failure, false);
    this.#protocol = failure.protocol;
    // The provider answers again, whatever the answer is.
    if (!this.#isConvicted && this.#shared.isOnTrial(now)) this.#isWell(now);
    const isCertain = failure.isCertain === true || this.#isDoubted(now);
    const begun = this.#accounts.failed(accountId, { ...failure, isCertain });
    if (begun) {
      const failuresInRow = this.#accounts.failuresInRow(accountId);
      this.#events.onRested({ ...begun, accountId, failuresInRow, why: failure.why });
    }
    if (this.#accounts.isDisproved(accountId, now)) return;
    this.#witnesses.failed(accountId, now);
    this.#judge(now);
  }

  /** Takes the result of a probe; null when the route answered it, or when it says nothing. */
  probed(failure: FailureSeen | null, now: number): void {
    this.#probingUntil = Number.NEGATIVE_INFINITY;
    this.#failedProbe = failure;
    if (failure === null) {
      if (!this.#isConvicted) this.#disproveFailing(now);
      this.#witnesses.clear();
      return this.#isWell(now);
    }
    if (this.#isAwaitingProbe(now) || this.#witnesses.areAgreed(now))
      this.#restForAll({ ...failure, now }, true);
  }

  /** Another node has seen the route fail, for one account or for all. */
  heardRest(accountId: number | null, rest: Rest, now: number): void {
    const { answeredAt } = this.#shared;
    if (accountId !== null) return this.#accounts.heard(accountId, rest, { now, answeredAt });
    this.#isConvicted ||= !rest.isProviders;
    this.#shared.heard(rest, now);
  }

  heardRecovery(accountId: number | null, now: number): void {
    this.#accounts.heardRecovery(accountId, now);
    if (accountId === null) this.#shared.heardRecovery(now);
  }

  /** `failures_in_row` and times are those of all accounts: of the rest for all, or of the shortest rest where all that use the route fail. */
  dump(now: number) {
    const shared = this.#shared.dump(now);
    const all = this.#accounts.dumpOf(this.#witnesses.users(now), now);
    const resting_accounts = this.#accounts.resting(now);
    return { ...(shared.failures_in_row > 0 || !all ? shared : all), resting_accounts };
  }

  get #needsProbe(): boolean {
    return this.#isConvicted && this.#protocol !== null;
  }

  #isAwaitingProbe(now: number): boolean {
    return this.#needsProbe && this.#shared.isOnTrial(now);
  }

  /** Returns whether a probe failed within PROBE_COUNTS_MS. */
  #isDoubted(now: number): boolean {
    return this.#failedProbe !== null && now - this.#failedProbe.now < PROBE_COUNTS_MS;
  }

  #judge(now: number): void {
    if (!this.#failedProbe || !this.#isDoubted(now)) {
      if (this.#witnesses.areSuspecting(now)) this.#wantProbe(now);
    } else if (this.#witnesses.areAgreed(now))
      this.#restForAll({ ...this.#failedProbe, now }, true);
  }

  #restForAll(failure: FailureSeen, isConvicted: boolean): void {
    const isCertain = isConvicted || failure.isCertain === true;
    const begun = this.#shared.failed({ ...failure, isCertain });
    if (!begun) return;
    this.#isConvicted = isConvicted;
    const { failuresInRow } = this.#shared;
    this.#events.onRested({ ...begun, accountId: null, failuresInRow, why: failure.why });
  }

  #isWell(now: number): void {
    this.#isConvicted = false;
    if (!this.#shared.succeeded()) return;
    this.#accounts.recovered(now);
    this.#events.onRecovered(null);
  }

  #disproveFailing(now: number): void {
    for (const accountId of this.#witnesses.failing(now)) {
      this.#accounts.disprove(accountId, now);
      this.#witnesses.forget(accountId);
    }
  }

  #wantProbe(now: number): void {
    if (this.#probingUntil > now || now - this.#probedAt < PROBE_EVERY_MS) return;
    if (this.#protocol === null) return;
    this.#probedAt = now;
    this.#probingUntil = now + PROBE_MS_MAX;
    this.#events.onProbeDue(this.#protocol);
  }
}
