import { Injectable } from '@nestjs/common';
import { usageOfFinal } from '@tollgate/contracts';
import { chargeOf, premiumWeights } from '@tollgate/metering';
import { DataSource } from 'typeorm';
import { INTEGER_MAX } from '../../../platform/database/integer-max.ts';
import { readPriceWeights, type PriceWeights } from '../../models/price-weights.ts';
import {
  readSubscriptionOwners,
  type SubscriptionOwner,
} from '../../subscriptions/subscription-owners.ts';
import type { ReadEvent } from './read-event.ts';

/** Rows of these two kinds never change what is kept here, so they are read once. Beyond this many the oldest are read again. */
const KEPT_MAX = 100_000;

interface BatchFacts {
  subscriptions: ReadonlyMap<number, SubscriptionOwner>;
  prices: ReadonlyMap<number, PriceWeights>;
}

/** Judges events by what PostgreSQL knows: whose subscription it is, and what the price version makes of the counts. */
@Injectable()
export class KnownFacts {
  private readonly subscriptions = new Map<number, SubscriptionOwner>();
  private readonly prices = new Map<number, PriceWeights>();

  constructor(private readonly dataSource: DataSource) {}

  /** What this batch needs, held apart: what is kept may be forgotten for another batch at any await. */
  async load(events: readonly ReadEvent[]): Promise<BatchFacts> {
    const subscriptionIds = events.map((read) => read.event.payload.subscription_id);
    const priceIds = events.flatMap(({ event: { payload } }) =>
      payload.kind === 'withdraw' ? [] : [payload.price_version_id],
    );
    return {
      subscriptions: await gather(this.subscriptions, subscriptionIds, (ids) =>
        readSubscriptionOwners(this.dataSource, ids),
      ),
      prices: await gather(this.prices, priceIds, (ids) => readPriceWeights(this.dataSource, ids)),
    };
  }

  /** Why an event must not be booked; null when it may. `load` has seen it. */
  faultOf({ event: { payload } }: ReadEvent, facts: BatchFacts): string | null {
    const subscription = facts.subscriptions.get(payload.subscription_id);
    if (!subscription) return 'the subscription does not exist';
    if (subscription.userId !== payload.account_id || subscription.modelId !== payload.model_id)
      return 'the subscription belongs to another account or model';
    if (payload.kind === 'withdraw') return null;
    const price = facts.prices.get(payload.price_version_id);
    if (!price || price.modelId !== payload.model_id)
      return 'the price version does not belong to the model';
    if (payload.kind === 'reap') return null;
    return chargeMismatch(payload.charge, () =>
      chargeOf(
        usageOfFinal(payload),
        payload.premiums ? premiumWeights(price, price.multipliers, payload.premiums) : price,
      ),
    );
  }
}

function chargeMismatch(claimed: number, recompute: () => number): string | null {
  try {
    const charge = recompute();
    return charge === claimed
      ? null
      : `the charge is ${charge} by its price version, not ${claimed}`;
  } catch (error) {
    if (error instanceof RangeError) return error.message;
    throw error;
  }
}

/** From what is kept, and from PostgreSQL what is not. */
async function gather<Value>(
  kept: Map<number, Value>,
  ids: readonly number[],
  read: (missing: number[]) => Promise<[number, Value][]>,
): Promise<Map<number, Value>> {
  const asked = [...new Set(ids)].filter((id) => id <= INTEGER_MAX);
  const known = new Map(
    asked.flatMap((id): [number, Value][] => (kept.has(id) ? [[id, kept.get(id) as Value]] : [])),
  );
  const missing = asked.filter((id) => !known.has(id));
  if (missing.length === 0) return known;
  for (const [id, value] of await read(missing)) {
    known.set(id, value);
    keep(kept, id, value);
  }
  return known;
}

function keep<Value>(kept: Map<number, Value>, id: number, value: Value): void {
  const [oldest] = kept.keys();
  if (kept.size >= KEPT_MAX && oldest !== undefined) kept.delete(oldest);
  kept.set(id, value);
}
