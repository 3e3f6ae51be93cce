import { FinalProofs } from '../../../apps/control-plane/src/features/proxy-nodes/final-proofs.ts';
import { BookedWithdrawals } from '../../../apps/control-plane/src/features/live-state/booked-withdrawals.sql.ts';
import { DroppedDays } from '../../../apps/control-plane/src/features/usage/ingest/dropped-days.sql.ts';
import { acknowledgementsOf } from '../../../apps/control-plane/src/features/usage/ingest/acknowledgements-of.ts';
import { PricesInForce } from '../../../apps/control-plane/src/features/models/prices-in-force.service.ts';
import type { BookingLanes } from '../../../apps/control-plane/src/features/usage/ingest/booking-lanes.ts';
import { UsageWorker } from '../../../apps/control-plane/src/features/usage/ingest/usage-worker.ts';
import type { WithdrawalsService } from '../../../apps/control-plane/src/features/subscriptions/withdrawals.service.ts';
import { LostReaps } from '../../../apps/control-plane/src/features/reconciliation/lost-reaps.ts';
import {
  RechargeWaits,
  type RechargeWaitsParts,
} from '../../../apps/proxy-node/src/pipeline/admission/recharge-waits.ts';
import type { Timers } from '../../../apps/proxy-node/src/timers.ts';

/** Answers a request at the end of its wait without asking Redis once more: the word of the purchase may be lost. */
export class HastyWaits extends RechargeWaits {
  readonly #waitMs: number;
  readonly #after: Timers['after'];

  constructor(parts: RechargeWaitsParts) {
    super(parts);
    this.#waitMs = parts.waitMs;
    this.#after = (parts.timers as Timers).after;
  }

  override until<Answer>(
    ...[hint, client, again]: Parameters<typeof RechargeWaits.prototype.until<Answer>>
  ): Promise<Answer | undefined> {
    let isOver = false;
    // This is before the wait's own end, by more than a timer may be late.
    this.#after(this.#waitMs - 5, () => void (isOver = true));
    return super.until(hint, client, () => (isOver ? Promise.resolve(undefined) : again()));
  }
}

/** Looks for charges of reaps that were lost, and sends none again. */
export class IdleReaps extends LostReaps {
  override async sendAgain(): Promise<number[]> {
    return Promise.resolve([]);
  }
}

export class ForgetfulDays extends DroppedDays {
  override setAside(
    ...[, events]: Parameters<DroppedDays['setAside']>
  ): ReturnType<DroppedDays['setAside']> {
    return Promise.resolve({ kept: events, aside: [] });
  }
}

export class ForgetfulWithdrawals extends BookedWithdrawals {
  override repeat(): Promise<void> {
    return Promise.resolve();
  }
}

export class TrustingProofs extends FinalProofs {
  override judge(...[events]: Parameters<FinalProofs['judge']>): ReturnType<FinalProofs['judge']> {
    return Promise.resolve({ believed: [...events], finals: [...events], forged: [] });
  }
}

type WorkerParts = ConstructorParameters<typeof UsageWorker>;
type LaneOptions = ConstructorParameters<typeof BookingLanes>[0];

/** The nodes get word of what is not yet booked. */
export function politeFirst([
  queues,
  proofs,
  guard,
  ingest,
  word,
  ...others
]: WorkerParts): WorkerParts {
  const after: Pick<WorkerParts[3], 'ingest'> = {
    ingest: async (events, ...how) => {
      for (const [node, list] of acknowledgementsOf(events)) await word.push(node, list);
      return ingest.ingest(events, ...how);
    },
  };
  return [queues, proofs, guard, after as WorkerParts[3], word, ...others];
}

/** A lane books the first job of its group, and acknowledges all of them. */
export function firstOfLane(parts: WorkerParts): UsageWorker {
  const worker = new UsageWorker(...parts);
  const lanes = Reflect.get(worker, 'lanes') as BookingLanes;
  const { book, ...others } = Reflect.get(lanes, 'options') as LaneOptions;
  const first: LaneOptions['book'] = async (deliveries) => {
    await book(deliveries.slice(0, 1));
    const events = deliveries.flatMap((delivery) => delivery.events);
    for (const [node, list] of acknowledgementsOf(events)) await parts[4].push(node, list);
  };
  Object.assign(lanes, { options: { ...others, book: first } });
  return worker;
}

export class UnlockedPrices extends PricesInForce {
  override lockPrices(): Promise<void> {
    return Promise.resolve();
  }
}

/** Reads a price before it is locked. */
export class EarlyPrices extends PricesInForce {
  readonly #early = new WeakMap<object, ReturnType<PricesInForce['priceNow']>>();

  override async lockPrices(
    ...[tx, modelId]: Parameters<PricesInForce['lockPrices']>
  ): Promise<void> {
    const early = super.priceNow(tx, modelId);
    this.#early.set(tx, early);
    await early;
    await super.lockPrices(tx, modelId);
  }

  override priceNow(
    ...[tx, modelId]: Parameters<PricesInForce['priceNow']>
  ): ReturnType<PricesInForce['priceNow']> {
    return this.#early.get(tx) ?? super.priceNow(tx, modelId);
  }
}

type WithdrawalParts = ConstructorParameters<typeof WithdrawalsService>;

/** Makes a clock whose time never changes, and names that are always the same. */
export function repeating(parts: WithdrawalParts): WithdrawalParts {
  const host = Object.create(parts[7] ?? {}, {
    unixMs: { value: () => 1_795_305_540_000 },
    uuid: { value: () => '00000000-0000-4000-8000-000000000000' },
  });
  return parts.with(7, host) as WithdrawalParts;
}
