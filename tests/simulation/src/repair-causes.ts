import type { FaultKind } from './fault-plan.ts';
import { MODEL_ID } from './postgres/first-rows.ts';
import type { ModelPostgres } from './postgres/model-postgres.ts';
import type { LiveStore } from './redis/live-store.ts';
import { keys } from '../../../libs/keyspace/test/past-the-stores.ts';
import { SeenCall } from './redis/seen-call.ts';

/** Faults after which Redis has debited events that no ledger has, each with how. No other repair is expected. */
const REPAIR_CAUSES: Partial<Record<FaultKind, string>> = {
  'drop-days': 'Finals of a dropped day wait for a person.',
  'lost-jobs':
    'The queue lost events that it was given. Until a node sends them again, the ledger lacks them.',
};

interface CausesParts {
  redis: LiveStore;
  postgres: ModelPostgres;
  /** Kinds of the faults that have struck. */
  struck: ReadonlySet<FaultKind>;
}

/**
 * Explains what the reconciliation repairs: a repair is the sum of events that Redis has debited, that are neither booked nor on their way, or of such
 * events that were given back before and are booked by now.
 */
export class RepairCauses {
  readonly #parts: CausesParts;
  /** Deltas of the events of each subscription (account and model), by name. */
  readonly #emitted = new Map<string, Map<string, number>>();
  readonly #booked = new Set<string>();
  readonly #givenBack = new Set<string>();

  constructor(parts: CausesParts) {
    this.#parts = parts;
    parts.redis.onCalled.push((call, changes) => {
      const seen = new SeenCall(call, parts.redis.data, changes);
      const name = seen.subscriptionKey?.split(':sub:')[1];
      if (name === undefined) return;
      const events = this.#emitted.get(name) ?? new Map<string, number>();
      for (const event of seen.events) events.set(event.name, event.delta);
      this.#emitted.set(name, events);
    });
  }

  booked({ rid, seq }: { rid: string; seq: number }): void {
    this.#booked.add(`${rid}:${seq}`);
  }

  /** Returns why the subscription could be repaired by so many tokens; null where nothing explains it. */
  explain(subscriptionId: number, delta: number): string | null {
    const kinds = Object.entries(REPAIR_CAUSES).filter(([kind]) =>
      this.#parts.struck.has(kind as FaultKind),
    );
    if (kinds.length === 0) return null;
    const row = this.#parts.postgres.rows.subscriptions
      .committed()
      .find(({ id }) => id === subscriptionId);
    const events = this.#emitted.get(`${row?.user_id}:${MODEL_ID}`) ?? new Map<string, number>();
    const underWay = this.#underWay(Number(row?.user_id));
    const lost = [...events].filter(([name]) => !this.#booked.has(name) && !underWay.has(name));
    const back = [...events].filter(
      ([name]) => this.#booked.has(name) && this.#givenBack.has(name),
    );
    const amounts = [...lost.map(([, amount]) => amount), ...back.map(([, amount]) => -amount)];
    if (!isSumOfSome(amounts, delta)) return null;
    for (const [name] of lost) this.#givenBack.add(name);
    return kinds.map(([, why]) => why).join(' ');
  }

  /** Names of the events that wait in the outbox of the account's shard or in the queue. */
  #underWay(accountId: number): Set<string> {
    const { redis } = this.#parts;
    const outbox = redis.data.stream(keys.outbox(redis.shardOf(accountId)))?.entries ?? [];
    return new Set([
      ...outbox.map(({ fields: [, rid = '', , seq = ''] }) => `${rid}:${seq}`),
      ...redis.queue.jobs.flatMap(({ job }) => job.events.map(({ rid, seq }) => `${rid}:${seq}`)),
    ]);
  }
}

function isSumOfSome(amounts: readonly number[], wanted: number): boolean {
  let sums = new Set([0]);
  for (const amount of amounts) sums = new Set([...sums, ...[...sums].map((sum) => sum + amount)]);
  return sums.has(wanted);
}
