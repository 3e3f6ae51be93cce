import { Injectable } from '@nestjs/common';
import { OTHER_MODEL, ratedTokensOf } from '@tollgate/contracts';
import type { EntityManager } from 'typeorm';
import { AlertsService } from '../../alerts/alerts.service.ts';
import { BudgetBooking, type BudgetedUse } from '../../budgets/budget-booking.sql.ts';
import { claimOn, lackingBudgets, type AdmittedRequest } from '../../budgets/missing-claims.sql.ts';
import { readNamedPrices } from '../../models/named-models.sql.ts';
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

  /** Adds claims on budgets that Redis had lost, or had not received, when it admitted a request. */
  async claimed(tx: EntityManager, reads: readonly ReadEvent[]): Promise<readonly ReadEvent[]> {
    const asked = reads.map((read) => ({ read, request: requestOf(read) }));
    const lacking = await lackingBudgets(
      tx,
      asked.flatMap(({ request }) => request ?? []),
    );
    if (lacking.length === 0) return reads;
    const prices = await readNamedPrices(
      tx,
      lacking.map(({ request }) => request.priceVersionId),
    );
    const missing = new Map(
      lacking.map(({ request, budgets }) => {
        const price = prices.get(request.priceVersionId);
        const claims = price ? budgets.map((budget) => claimOn(budget, request, price)) : [];
        return [request, claims.filter((claim) => claim !== '').join(',')];
      }),
    );
    return asked.map(({ read, request }) => {
      const uncounted = request && missing.get(request);
      return uncounted ? withClaims(read, uncounted) : read;
    });
  }

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
      missed: [...missed.flatMap(budgetedUse), ...uncountedUse(booked, missed)],
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

function requestOf({ event: { payload }, beganAtMs }: ReadEvent): AdmittedRequest | null {
  if (payload.kind === 'withdraw') return null;
  const { account_id: accountId, key_id: keyId, price_version_id: priceVersionId } = payload;
  // A reap does not name the models that were asked before.
  const isFirst =
    payload.kind === 'usage' && !payload.attempts.some(({ error }) => error === OTHER_MODEL);
  return { accountId, keyId, priceVersionId, beganAtMs, claims: payload.budgets ?? '', isFirst };
}

function withClaims(read: ReadEvent, uncounted: string): ReadEvent {
  const { event } = read;
  if (event.payload.kind === 'withdraw') return read;
  const budgets = [event.payload.budgets ?? '', uncounted].filter((text) => text !== '').join(',');
  return { ...read, uncounted, event: { ...event, payload: { ...event.payload, budgets } } };
}

/** Returns what Redis does not count of requests that it knows. */
function uncountedUse(booked: readonly ReadEvent[], missed: readonly ReadEvent[]): BudgetedUse[] {
  const whole = new Set(missed);
  return booked.flatMap((read) =>
    read.uncounted === undefined || whole.has(read)
      ? []
      : budgetedUse(read).map((use) => ({ ...use, claims: read.uncounted ?? '' })),
  );
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
