import type { FaultKind } from './fault-plan.ts';
import { MODEL_ID } from './postgres/first-rows.ts';
import type { ModelPostgres } from './postgres/model-postgres.ts';
import type { UsageRow } from './postgres/rows.ts';
import type { LiveStore } from './redis/live-store.ts';
import { keys } from '../../../libs/keyspace/test/past-the-stores.ts';
import { SeenCall } from './redis/seen-call.ts';

/** Holds what is known of an event: how often Redis has debited it, and how the ledger booked it. */
interface KnownEvent {
  /** Holds the debits of Redis, each with the number of its call. */
  debits: { delta: number; call: number }[];
  /** Redis lost a debit with the end of what it wrote. */
  wasLost: boolean;
  booked: UsageRow | undefined;
  isUnderWay: boolean;
  /** It may be under way again since the reconciliation looked. */
  wasLostInQueue: boolean;
  /** A journal brought it before any outbox did. */
  isOfJournal: boolean;
  /** The marker of its request expired while the clock of Redis was ahead. */
  isForgotten: boolean;
  isGivenBack: boolean;
}

interface Cause {
  /** One of each group has struck. */
  faults: readonly (readonly FaultKind[])[];
  why: string;
  /** Returns by how much Redis is below the ledger because of the event. */
  missing: (event: KnownEvent) => number;
}

const debitedOf = ({ debits }: KnownEvent): number =>
  debits.reduce((sum, { delta }) => sum + delta, 0);
const isLost = (event: KnownEvent): boolean =>
  !event.booked && (!event.isUnderWay || event.wasLostInQueue);

/** Holds what the reconciliation may find. No other repair is expected. */
const CAUSES: readonly Cause[] = [
  {
    faults: [['drop-days', 'lost-jobs']],
    why: 'The queue lost events that Redis has debited, or they wait for a person as their day was dropped.',
    missing: (event) => (isLost(event) ? debitedOf(event) : 0),
  },
  {
    faults: [['lost-jobs']],
    why: 'The queue lost a settlement that Redis has debited. A journal brought its final, which was debited again as usage that Redis does not know.',
    missing: (event) =>
      event.isOfJournal && !event.isUnderWay && event.booked?.shard === null ? debitedOf(event) : 0,
  },
  {
    faults: [['lost-jobs'], ['damaged-journal', 'lost-disk', 'power-loss']],
    why: 'The queue lost a final that Redis has debited and its journal lost it too: what the journal still knew of the request is booked, which is less.',
    missing: (event) =>
      event.booked?.kind === 'usage' && event.booked.shard !== null
        ? Math.max(0, debitedOf(event) - event.booked.delta)
        : 0,
  },
  {
    faults: [['drop-days', 'lost-jobs']],
    why: 'What was given back for a lost event is taken again: it is booked by now.',
    missing: (event) => (event.booked && event.isGivenBack ? -event.booked.delta : 0),
  },
  {
    faults: [['redis-clock']],
    why: 'A final that came again was debited again, here or as usage out of a journal: its marker expired while the clock of Redis was ahead.',
    missing: (event) => {
      if (!event.isForgotten || !event.booked) return 0;
      const journalled = event.booked.shard === null ? event.booked.delta : 0;
      return debitedOf(event) + journalled - event.booked.delta;
    },
  },
  {
    faults: [['redis-crash'], ['lost-disk', 'power-loss', 'damaged-journal']],
    why: 'Redis lost a settlement that is booked, and the journal that would settle it again is lost too.',
    // A withdrawal is repeated out of the ledger.
    missing: (event) =>
      event.wasLost && event.booked && event.booked.kind !== 'withdraw'
        ? debitedOf(event) - event.booked.delta
        : 0,
  },
];

interface CausesParts {
  redis: LiveStore;
  postgres: ModelPostgres;
  /** Holds the kinds of the faults that have struck. */
  struck: ReadonlySet<FaultKind>;
}

/** Explains what the reconciliation repairs: the sum of what events are off by, each by a cause whose faults have struck. */
export class RepairCauses {
  readonly #parts: CausesParts;
  /** Maps subscriptions (account and model) to the debits of their events, by name, in what Redis has now. */
  readonly #debits = new Map<string, Map<string, KnownEvent['debits']>>();
  readonly #lost = new Set<string>();
  readonly #booked = new Map<string, UsageRow>();
  readonly #ofJournals = new Set<string>();
  readonly #forgotten = new Set<string>();
  readonly #givenBack = new Set<string>();

  constructor(parts: CausesParts) {
    this.#parts = parts;
    const { redis } = parts;
    redis.onCalled.push((call, changes) => {
      const seen = new SeenCall(call, redis.data, changes);
      const name = seen.subscriptionKey?.split(':sub:')[1];
      if (name === undefined) return;
      // The subscription was opened with what the ledger has: no debit of before is in it.
      const isOpened = seen.hasWrittenSubscription && seen.subscription('before') === null;
      const events = (isOpened ? undefined : this.#debits.get(name)) ?? new Map();
      // An event that is emitted again debits nothing.
      for (const { name: event, delta } of seen.hasWrittenSubscription ? seen.events : [])
        events.set(event, [...(events.get(event) ?? []), { delta, call: redis.lastCall }]);
      this.#debits.set(name, events);
    });
    redis.onExpiredEarly.push((key) => this.#forgotten.add(ridOf(key)));
    redis.onLostTail.push((lastCall) => this.#lostAfter(lastCall));
  }

  booked(row: UsageRow): void {
    const name = `${row.rid}:${row.seq}`;
    if (!this.#booked.has(name) && row.shard === null) this.#ofJournals.add(name);
    this.#booked.set(name, row);
  }

  /** Returns why the subscription could be repaired by so many tokens; null where nothing explains it. */
  explain(subscriptionId: number, delta: number): string | null {
    const { struck } = this.#parts;
    const causes = CAUSES.filter(({ faults }) =>
      faults.every((kinds) => kinds.some((kind) => struck.has(kind))),
    );
    const events = this.#eventsOf(subscriptionId);
    const found = causes.flatMap(({ why, missing }) =>
      [...events.values()].map((event) => ({ why, tokens: missing(event) })),
    );
    const amounts = found.filter(({ tokens }) => tokens !== 0);
    if (
      !isSumOfSome(
        amounts.map(({ tokens }) => tokens),
        delta,
      )
    )
      return null;
    for (const [name, event] of events) if (isLost(event)) this.#givenBack.add(name);
    return [...new Set(amounts.map(({ why }) => why))].join(' ');
  }

  #lostAfter(lastCall: number): void {
    for (const events of this.#debits.values())
      for (const [name, debits] of events) {
        const kept = debits.filter(({ call }) => call <= lastCall);
        if (kept.length < debits.length) this.#lost.add(name);
        events.set(name, kept);
      }
  }

  #eventsOf(subscriptionId: number): Map<string, KnownEvent> {
    const row = this.#parts.postgres.rows.subscriptions
      .committed()
      .find(({ id }) => id === subscriptionId);
    const all = this.#debits.get(`${row?.user_id}:${MODEL_ID}`) ?? new Map();
    const underWay = this.#underWay(Number(row?.user_id));
    return new Map(
      [...all].map(([name, debits]: [string, KnownEvent['debits']]) => {
        const [rid = ''] = name.split(':');
        return [
          name,
          {
            debits,
            wasLost: this.#lost.has(name),
            booked: this.#booked.get(name),
            isUnderWay: underWay.has(name),
            wasLostInQueue: this.#parts.redis.lostEvents.has(name),
            isOfJournal: this.#ofJournals.has(name),
            isForgotten: this.#forgotten.has(rid),
            isGivenBack: this.#givenBack.has(name),
          },
        ];
      }),
    );
  }

  /** Returns the names of the events that wait in the outbox of the account's shard or in the queue. */
  #underWay(accountId: number): Set<string> {
    const { redis } = this.#parts;
    const outbox = redis.data.stream(keys.outbox(redis.shardOf(accountId)))?.entries ?? [];
    return new Set([
      ...outbox.map(({ fields: [, rid = '', , seq = ''] }) => `${rid}:${seq}`),
      ...redis.queue.jobs.flatMap(({ job }) => job.events.map(({ rid, seq }) => `${rid}:${seq}`)),
    ]);
  }
}

/** Returns the request that a key of a hold is of. */
export function ridOf(key: string): string {
  return key.split(':').at(-1) ?? '';
}

function isSumOfSome(amounts: readonly number[], wanted: number): boolean {
  let sums = new Set([0]);
  for (const amount of amounts) sums = new Set([...sums, ...[...sums].map((sum) => sum + amount)]);
  return sums.has(wanted);
}
