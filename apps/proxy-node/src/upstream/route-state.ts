import type { ClientProtocol } from '@tollgate/protocols';
import { AccountRests } from './account-rests.ts';
import { RouteRest, type Failed, type Rest } from './route-rest.ts';
import { RouteWitnesses } from './route-witnesses.ts';

/** A healthy provider that one account provokes is asked no more than this. */
const PROBE_EVERY_MS = 1_000;
/** A probe that has not reported by then is taken for lost. */
const PROBE_MS_MAX = 20_000;
/** For so long a failed probe speaks for the route: the next accounts that fail need no other. */
const PROBE_COUNTS_MS = 2_000;
/** A request that may not try the route itself waits for the probe. */
const PROBE_WAIT_MS = 1_000;

export interface FailureSeen extends Failed {
  /** No connection was made: no request can cause that, so that it counts for all accounts. */
  readonly isUnreached?: boolean;
  /** The protocol of the request, and of a probe that asks the same. */
  readonly protocol: ClientProtocol;
}

/** A rest that began here. `accountId` null: for all accounts. */
export interface RestOf extends Rest {
  readonly accountId: number | null;
  readonly failuresInRow: number;
  readonly why: string;
}

export interface RouteEvents {
  onRested(rest: RestOf): void;
  onRecovered(accountId: number | null): void;
  /** A synthetic request is to be sent; `probed` takes its result. */
  onProbeDue(protocol: ClientProtocol): void;
}

/**
 * Holds this process' knowledge of one route. A request's failure rests the route for its own account: a caller can provoke it. The route rests for all accounts
 * where no connection is made, which no caller can provoke, or where several accounts fail and a probe fails too: a fixed request of the gateway's own.
 */
export class RouteState {
  readonly #shared = new RouteRest();
  readonly #accounts = new AccountRests();
  readonly #witnesses = new RouteWitnesses();
  readonly #events: RouteEvents;
  /** The rest for all came of a probe, and ends by one: requests that fail may be their caller's doing. */
  #isConvicted = false;
  #failedProbe: FailureSeen | null = null;
  #probedAt = Number.NEGATIVE_INFINITY;
  #probingUntil = Number.NEGATIVE_INFINITY;
  /** The protocol of the last request that failed here. Null if no probe can ask the same: requests then try the route. */
  #protocol: ClientProtocol | null = null;

  constructor(events: RouteEvents) {
    this.#events = events;
  }

  /** ms until the account may try the route; 0 = now. Asking for a route whose rest is over has it probed. */
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
    // After a failed probe one head of an answer says too little: its caller's next request may fail again.
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
    // The provider answers again, whatever it says.
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

  /** The result of a probe; null where the route answered it, or it says nothing. */
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

  /** `failures_in_row` and times are those of all accounts: of the rest for all, or of the best off where all that use the route fail. */
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

  /** A probe failed a moment ago. */
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
