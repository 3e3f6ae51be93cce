import { Injectable } from '@nestjs/common';
import type { UsageFinal } from '@tollgate/contracts';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { ShardEpochs } from '../../epochs/shard-epochs.ts';
import { LiveStateService } from '../../live-state/live-state.service.ts';
import { TokenLedger, type LockedSubscription } from '../../subscriptions/token-ledger.service.ts';
import type { ReadEvent } from './read-event.ts';

const bookedRow = z.object({
  rid: z.string(),
  seq: z.number(),
  kind: z.string(),
  delta: z.coerce.number(),
  charge: z.coerce.number(),
});
const adoptedRow = z.object({ subscription_id: z.number(), delta: z.coerce.number() });

export interface LiveCorrection {
  subscriptionId: number;
  /** What Redis must still be moved by. */
  delta: number;
}

/**
 * Usage that took another way than Redis, outbox, PostgreSQL: finals out of a node's journal, and events of an epoch that is gone.
 * It is booked here first and reaches Redis as a credit, so that each unit flows exactly one way (docs/design/metering.md#loss-of-redis-data).
 */
@Injectable()
export class LateUsage {
  constructor(
    private readonly epochs: ShardEpochs,
    private readonly tokens: TokenLedger,
    private readonly live: LiveStateService,
  ) {}

  /** What Redis does not know of the events that were booked now. */
  missedBy(
    booked: readonly ReadEvent[],
    current: ReadonlyMap<string, string>,
    { fromJournal }: { fromJournal: boolean },
  ): LiveCorrection[] {
    return booked
      .filter(
        ({ event, relayed }) =>
          event.payload.kind !== 'withdraw' &&
          (fromJournal ||
            (relayed.epoch !== '' &&
              relayed.epoch !== current.get(this.epochs.shardOf(event.payload.account_id)))),
      )
      .map(({ event }) => ({ subscriptionId: event.payload.subscription_id, delta: -event.delta }));
  }

  /**
   * Events of today's Redis whose usage a journal has brought before: Redis has debited them after all, so their credit is taken back.
   * Once each: from now on the row has its place in the outbox.
   */
  async adopt(
    tx: EntityManager,
    duplicates: readonly ReadEvent[],
    current: ReadonlyMap<string, string>,
  ): Promise<LiveCorrection[]> {
    const known = duplicates.filter(
      ({ event, relayed }) =>
        event.payload.kind !== 'withdraw' &&
        relayed.outboxId !== '' &&
        relayed.epoch !== '' &&
        relayed.epoch === current.get(this.epochs.shardOf(event.payload.account_id)),
    );
    if (known.length === 0) return [];
    const [rows]: [unknown[], number] = await tx.query(
      `UPDATE usage_events u SET shard = v.shard, outbox_ms = split_part(v.outbox, '-', 1)::bigint, outbox_n = split_part(v.outbox, '-', 2)::bigint
       FROM unnest($1::date[], $2::uuid[], $3::smallint[], $4::text[], $5::text[]) AS v(day, rid, seq, shard, outbox)
       WHERE u.day = v.day AND u.rid = v.rid AND u.seq = v.seq AND u.shard IS NULL AND u.kind IN ('usage', 'reap') RETURNING u.subscription_id, u.delta`,
      [
        known.map(dayOf),
        known.map(({ event }) => event.rid),
        known.map(({ event }) => event.seq),
        known.map(({ relayed }) => relayed.shard),
        known.map(({ relayed }) => relayed.outboxId),
      ],
    );
    return rows
      .map((row) => adoptedRow.parse(row))
      .map(({ subscription_id, delta }) => ({ subscriptionId: subscription_id, delta }));
  }

  async correct(
    tx: EntityManager,
    corrections: readonly LiveCorrection[],
    locked: ReadonlyMap<number, LockedSubscription>,
  ): Promise<void> {
    const sums = new Map<number, number>();
    for (const { subscriptionId, delta } of corrections)
      sums.set(subscriptionId, (sums.get(subscriptionId) ?? 0) + delta);
    for (const [id, delta] of sums) {
      const subscription = locked.get(id);
      if (!subscription) throw new Error(`subscription ${id} is not locked`);
      if (delta === 0) continue;
      await this.tokens.correctLive(tx, subscription, { delta, kind: 'late_usage' });
      await this.live.creditAdded(tx, id);
    }
  }

  /**
   * Numbers events by what is booked of their requests. A correction (seq 1) stands on a reap: where the whole charge is booked as seq 0, it has
   * nothing left to correct. What a node signed is the whole charge of its request: number and delta follow from that and from a reap, so that
   * neither a forged reap nor altered numbers change what the request costs in the end.
   */
  async fitted(tx: EntityManager, events: readonly ReadEvent[]): Promise<ReadEvent[]> {
    const finals = events.filter(
      ({ event, isSigned }) => event.payload.kind === 'usage' && (isSigned || event.seq === 1),
    );
    if (finals.length === 0) return [...events];
    const booked = Map.groupBy(await this.bookedOf(tx, finals), ({ rid }) => rid);
    const reaps = new Map(
      events
        .filter(({ event }) => event.payload.kind === 'reap')
        .map(({ event }) => [event.rid, event.delta]),
    );
    return events.flatMap((read) => {
      if (!finals.includes(read)) return [read];
      const rows = booked.get(read.event.rid) ?? [];
      const first = rows.find(({ seq }) => seq === 0);
      if (read.event.seq === 1 && first?.kind === 'usage') return [];
      return read.isSigned ? [fitSigned(read, rows, reaps.get(read.event.rid))] : [read];
    });
  }

  /** Numbers finals out of a journal by what is booked of their requests: a first charge, the correction of a reap, or the reap that a correction lacks. */
  async numbered(tx: EntityManager, finals: readonly ReadEvent[]): Promise<ReadEvent[]> {
    const booked = Map.groupBy(await this.bookedOf(tx, finals), ({ rid }) => rid);
    return finals.flatMap((read) => {
      const { payload, rid } = read.event;
      if (payload.kind !== 'usage') return [];
      const rows = booked.get(rid) ?? [];
      const first = rows.find(({ seq }) => seq === 0);
      const correction = rows.find(({ seq, kind }) => seq === 1 && kind === 'usage');
      if (first?.kind === 'reap' && !correction)
        return [{ ...read, event: { rid, seq: 1, delta: payload.charge - first.delta, payload } }];
      if (!first && correction)
        return [
          {
            ...read,
            event: {
              rid,
              seq: 0,
              delta: correction.charge - correction.delta,
              payload: reapOf(payload),
            },
          },
        ];
      return first ? [] : [read];
    });
  }

  private async bookedOf(
    tx: EntityManager,
    events: readonly ReadEvent[],
  ): Promise<z.output<typeof bookedRow>[]> {
    const rows: unknown[] = await tx.query(
      `SELECT u.rid, u.seq, u.kind, u.delta, u.charge FROM usage_events u JOIN (SELECT * FROM unnest($1::date[], $2::uuid[]) AS w(day, rid)) w USING (day, rid) WHERE u.kind <> 'withdraw'`,
      [events.map(dayOf), events.map(({ event }) => event.rid)],
    );
    return rows.map((row) => bookedRow.parse(row));
  }
}

/** A duplicate keeps its number, under which it meets its row. */
function fitSigned(
  read: ReadEvent,
  rows: readonly z.output<typeof bookedRow>[],
  reapedHere: number | undefined,
): ReadEvent {
  const { payload, rid } = read.event;
  if (payload.kind !== 'usage') return read;
  const first = rows.find(({ seq }) => seq === 0);
  const correction = rows.find(({ seq, kind }) => seq === 1 && kind === 'usage');
  const reaped = first?.kind === 'reap' ? first.delta : first ? undefined : reapedHere;
  if (!first && correction) {
    const delta = correction.charge - correction.delta;
    return read.event.seq === 1
      ? read
      : { ...read, event: { rid, seq: 0, delta, payload: reapOf(payload) } };
  }
  if (reaped !== undefined && !correction)
    return { ...read, event: { rid, seq: 1, delta: payload.charge - reaped, payload } };
  if (first) return read;
  return { ...read, event: { rid, seq: 0, delta: payload.charge, payload } };
}

function reapOf({
  account_id,
  key_id,
  subscription_id,
  model_id,
  price_version_id,
  node,
}: UsageFinal) {
  return {
    kind: 'reap' as const,
    account_id,
    key_id,
    subscription_id,
    model_id,
    price_version_id,
    node,
  };
}

function dayOf({ beganAtMs }: ReadEvent): string {
  return new Date(beganAtMs).toISOString().slice(0, 10);
}
