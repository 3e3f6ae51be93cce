import { Injectable } from '@nestjs/common';
import { chargeOfFinal } from '@tollgate/metering';
import { DataSource } from 'typeorm';
import { INTEGER_MAX } from '../../../platform/database/integer-max.ts';
import { readPriceWeights, type PriceWeights } from '../../models/price-weights.sql.ts';
import {
  readOwnSubscriptions,
  readSubscriptionOwners,
  type SubscriptionOwner,
} from '../../subscriptions/read-subscriptions.sql.ts';
import type { ReadEvent } from './read-event.ts';

/** The cached columns of these rows never change, so they are read once. Beyond this many entries the oldest are read again. */
const KEPT_MAX = 100_000;

interface BatchFacts {
  subscriptions: ReadonlyMap<number, SubscriptionOwner>;
  /** Maps accounts and models whose events name another subscription to their own. */
  own: ReadonlyMap<string, number>;
  prices: ReadonlyMap<number, PriceWeights>;
}

/** Checks events against PostgreSQL: the owner of the subscription, and the charge that the price version gives for the counts. */
@Injectable()
export class KnownFacts {
  private readonly subscriptions = new Map<number, SubscriptionOwner>();
  private readonly prices = new Map<number, PriceWeights>();

  constructor(private readonly dataSource: DataSource) {}

  /** Loads the facts of this batch into their own maps, because another batch may evict cached facts at any await. */
  async load(events: readonly ReadEvent[]): Promise<BatchFacts> {
    const subscriptionIds = new Set<number>();
    const priceIds = new Set<number>();
    for (const { event } of events) {
      subscriptionIds.add(event.payload.subscription_id);
      if (event.payload.kind !== 'withdraw') priceIds.add(event.payload.price_version_id);
    }
    const subscriptions = await gather(this.subscriptions, subscriptionIds, (ids) =>
      readSubscriptionOwners(this.dataSource, ids),
    );
    const strangers = events.filter((read) => !isOf(read, subscriptions));
    return {
      subscriptions,
      own: strangers.length === 0 ? new Map() : await this.readOwn(strangers),
      prices: await gather(this.prices, priceIds, (ids) => readPriceWeights(this.dataSource, ids)),
    };
  }

  /**
   * Returns the event with the subscription of its account and model. A node learns the subscription from Redis, where someone may have changed it;
   * it knows and signs account and model itself. A withdrawal names a subscription, and stays unchanged.
   */
  corrected(read: ReadEvent, { subscriptions, own }: BatchFacts): ReadEvent {
    const { event } = read;
    const { payload } = event;
    if (payload.kind === 'withdraw' || isOf(read, subscriptions)) return read;
    const id = own.get(nameOf(payload));
    if (id === undefined) return read;
    return { ...read, event: { ...event, payload: { ...payload, subscription_id: id } } };
  }

  /** Returns why an event must not be booked; null if it may. `load` has read its facts. */
  faultOf({ event: { payload } }: ReadEvent, facts: BatchFacts): string | null {
    const id = payload.subscription_id;
    const subscription =
      facts.subscriptions.get(id) ??
      (facts.own.get(nameOf(payload)) === id
        ? { userId: payload.account_id, modelId: payload.model_id }
        : undefined);
    if (!subscription) return 'the subscription does not exist';
    if (subscription.userId !== payload.account_id || subscription.modelId !== payload.model_id)
      return 'the subscription belongs to another account or model';
    if (payload.kind === 'withdraw') return null;
    const price = facts.prices.get(payload.price_version_id);
    if (!price || price.modelId !== payload.model_id)
      return 'the price version does not belong to the model';
    if (payload.kind === 'reap') return null;
    return chargeMismatch(payload.charge, () => chargeOfFinal(payload, price));
  }

  private async readOwn(events: readonly ReadEvent[]): Promise<Map<string, number>> {
    const owners = events
      .map(({ event: { payload } }) => payload)
      .filter(({ account_id, model_id }) => Math.max(account_id, model_id) <= INTEGER_MAX)
      .map(({ account_id: userId, model_id: modelId }) => ({ userId, modelId }));
    const own = await readOwnSubscriptions(this.dataSource, owners);
    return new Map(
      own.map(([id, { userId, modelId }]) => [
        nameOf({ account_id: userId, model_id: modelId }),
        id,
      ]),
    );
  }
}

function nameOf({ account_id, model_id }: { account_id: number; model_id: number }): string {
  return `${account_id}:${model_id}`;
}

function isOf(
  { event: { payload } }: ReadEvent,
  subscriptions: BatchFacts['subscriptions'],
): boolean {
  const named = subscriptions.get(payload.subscription_id);
  return named?.userId === payload.account_id && named.modelId === payload.model_id;
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

/** Returns cached values, and reads the missing ones from PostgreSQL. */
async function gather<Value>(
  kept: Map<number, Value>,
  ids: ReadonlySet<number>,
  read: (missing: number[]) => Promise<[number, Value][]>,
): Promise<Map<number, Value>> {
  const asked = [...ids].filter((id) => id <= INTEGER_MAX);
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
