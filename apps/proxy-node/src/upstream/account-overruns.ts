import type { Overrun } from '@tollgate/metering';

/** An overrun counts for this long after it was last seen, in ms. */
const OVERRUN_MS = 3_600_000;
/** Bounds the accounts per upstream. Beyond it the account whose overrun is oldest is removed. */
export const OVERRUN_ACCOUNTS_MAX = 1_000;

interface Seen {
  readonly overrun: Overrun;
  readonly at: number;
}

/** Holds by how much one upstream overran its limits, by account. The caller passes the clock in. */
export class AccountOverruns {
  /** Maps accounts to their overruns; the latest one is last. */
  readonly #accounts = new Map<number, Seen>();

  note(accountId: number, overrun: Overrun, now: number): void {
    const before = this.of(accountId, now);
    this.#accounts.delete(accountId);
    const [oldest] = this.#accounts.keys();
    if (oldest !== undefined && this.#accounts.size >= OVERRUN_ACCOUNTS_MAX)
      this.#accounts.delete(oldest);
    this.#accounts.set(accountId, { overrun: larger(before, overrun), at: now });
  }

  of(accountId: number, now: number): Overrun | null {
    const seen = this.#accounts.get(accountId);
    return seen && now - seen.at < OVERRUN_MS ? seen.overrun : null;
  }

  /** Returns the largest overrun of all accounts. */
  most(now: number): Overrun | null {
    let most: Overrun | null = null;
    for (const accountId of this.#accounts.keys()) {
      const seen = this.of(accountId, now);
      if (seen) most = larger(most, seen);
    }
    return most;
  }
}

export function larger(one: Overrun | null, other: Overrun): Overrun {
  return {
    factor: Math.max(one?.factor ?? 1, other.factor),
    tokens: Math.max(one?.tokens ?? 0, other.tokens),
  };
}
