import type { ModelPostgres } from './postgres/model-postgres.ts';
import { MODEL_ID } from './postgres/first-rows.ts';
import type { CreditRow } from './postgres/rows.ts';
import type { Truth } from './truth.ts';
import { Violation } from './violation.ts';

interface Seen {
  /** Is the last credit that Redis ever had. */
  creditSeq: number;
  /** Is the least that was free since Redis first had that credit; `balanceMin` is the least balance. */
  freeMin: number;
  balanceMin: number;
}

/** Checks that auto-recharge buys where Redis showed a need, or less than a request said it needs, and once for each: only after the credit before has reached Redis. */
export class RechargeNeeds {
  readonly #postgres: ModelPostgres;
  readonly #truth: Truth;
  readonly #seen = new Map<string, Seen>();
  #broken: string | null = null;

  constructor({ postgres, truth }: { postgres: ModelPostgres; truth: Truth }) {
    this.#postgres = postgres;
    this.#truth = truth;
  }

  /** Notes a subscription in Redis, by account and model. */
  seen(
    name: string,
    { balance, held, creditSeq }: { balance: number; held: number; creditSeq: number | null },
  ): void {
    const before = this.#seen.get(name) ?? {
      creditSeq: 0,
      freeMin: Infinity,
      balanceMin: Infinity,
    };
    const isLater = (creditSeq ?? 0) > before.creditSeq;
    this.#seen.set(name, {
      creditSeq: Math.max(creditSeq ?? 0, before.creditSeq),
      freeMin: Math.min(isLater ? Infinity : before.freeMin, balance - held),
      balanceMin: Math.min(isLater ? Infinity : before.balanceMin, balance),
    });
  }

  /** Checks a purchase in its commit, where nothing may be thrown. */
  bought({ subscription_id: id, seq }: CreditRow): void {
    const row = this.#postgres.rows.subscriptions.committed().find((one) => one.id === id);
    const name = `${row?.user_id}:${MODEL_ID}`;
    const seen = this.#seen.get(name);
    const needed = this.#truth.needs.get(name) ?? 0;
    const threshold = row?.auto_recharge_threshold ?? -1;
    const what = `subscription ${id}: auto-recharge bought credit ${seq}`;
    if (!seen || seen.creditSeq < seq - 1)
      this.#broken ??= `${what} while Redis had ${seen?.creditSeq ?? 'none'}`;
    else if (seen.freeMin > threshold && seen.balanceMin >= needed)
      this.#broken ??= `${what} above its threshold of ${threshold}: ${seen.freeMin} tokens were free at the least`;
  }

  check(): void {
    if (this.#broken !== null) throw new Violation(this.#broken);
  }
}
