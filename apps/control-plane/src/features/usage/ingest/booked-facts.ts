import { Injectable } from '@nestjs/common';
import { ratedTokensOf } from '@tollgate/contracts';
import type { EntityManager } from 'typeorm';
import { AlertsService } from '../../alerts/alerts.service.ts';
import { BudgetBooking, type BudgetedUse } from '../../budgets/budget-booking.sql.ts';
import type { LockedSubscription } from '../../subscriptions/token-ledger.service.ts';
import type { AdoptedUsage } from './late-usage.sql.ts';
import type { ReadEvent } from './read-event.ts';
import { bookRollups } from './rollups.sql.ts';

interface Overdrawn {
  subscriptionId: number;
  tokens: number;
}

/** Writes the consequences of booked usage in the transaction that books it: sums and alerts. */
@Injectable()
export class BookedFacts {
  constructor(
    private readonly alerts: AlertsService,
    private readonly budgets: BudgetBooking,
  ) {}

  /** `LateUsage` finds `missed` and `adopted`. */
  async sum(
    tx: EntityManager,
    {
      booked,
      missed,
      adopted,
    }: {
      booked: readonly ReadEvent[];
      missed: readonly ReadEvent[];
      adopted: readonly AdoptedUsage[];
    },
  ): Promise<void> {
    bookRollups(tx, booked);
    await this.budgets.book(tx, {
      booked: booked.flatMap(budgetedUse),
      missed: missed.flatMap(budgetedUse),
      adopted: adopted.map(({ use }) => use),
    });
  }

  async raiseAlerts(
    tx: EntityManager,
    {
      overdrawn,
      newLetters,
      reason,
    }: { overdrawn: Overdrawn[]; newLetters: number; reason: string | undefined },
  ): Promise<void> {
    for (const { subscriptionId, tokens } of overdrawn) {
      const message = `Subscription ${subscriptionId} used or withdrew ${tokens.toLocaleString('en')} tokens beyond its balance; they are booked as overdraft`;
      await this.alerts.raise(tx, {
        rule: 'overdraft',
        subject: `subscription:${subscriptionId}`,
        message,
        detail: { tokens },
      });
    }
    if (newLetters === 0) return;
    const message = `${newLetters} usage events could not be booked and wait as dead letters, e.g.: ${reason ?? 'unknown'}`;
    const detail = { events: newLetters, reason: reason ?? 'unknown' };
    await this.alerts.raise(tx, { rule: 'dead_letter', subject: 'usage', message, detail });
  }
}

function budgetedUse({ event }: ReadEvent): BudgetedUse[] {
  const { payload, seq, delta } = event;
  if (payload.kind === 'withdraw' || payload.budgets === undefined) return [];
  const [charge, reported] =
    payload.kind === 'usage' ? [payload.charge, ratedTokensOf(payload).all] : [null, null];
  const { account_id: accountId, budgets: claims } = payload;
  return [{ accountId, claims, seq, delta, charge, reported }];
}

export function overdraftsOf(locked: ReadonlyMap<number, LockedSubscription>): Map<number, number> {
  return new Map([...locked].map(([id, { overdraft }]) => [id, overdraft]));
}

/** Returns the overdrawn subscriptions at the end of a batch: in between, a withdrawal may rest on a charge whose correction the same batch brings. */
export function overdrawnSince(
  before: ReadonlyMap<number, number>,
  locked: ReadonlyMap<number, LockedSubscription>,
): Overdrawn[] {
  return [...locked.values()]
    .map(({ id, overdraft }) => ({
      subscriptionId: id,
      tokens: overdraft - Math.max(0, before.get(id) ?? 0),
    }))
    .filter(({ tokens }) => tokens > 0);
}
