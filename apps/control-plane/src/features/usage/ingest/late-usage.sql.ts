import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { RATED_TOKENS } from '../../../platform/database/summed-columns.ts';
import { filledAt, ShardEpochs } from '../../epochs/shard-epochs.sql.ts';
import { LiveStateService } from '../../live-state/live-state.service.ts';
import { TokenLedger, type LockedSubscription } from '../../subscriptions/token-ledger.service.ts';
import { isRepeated, reapOf, type ReadEvent } from './read-event.ts';

const bookedRow = z.object({
  rid: z.string(),
  seq: z.number(),
  kind: z.string(),
  delta: z.coerce.number(),
  charge: z.coerce.number(),
});
type BookedRow = z.output<typeof bookedRow>;
const adoptedRow = z
  .object({
    subscription_id: z.number(),
    user_id: z.number(),
    seq: z.number(),
    delta: z.coerce.number(),
    charge: z.coerce.number().nullable(),
    budgets: z.string().nullable(),
    reported: z.coerce.number().nullable(),
    debited: z.coerce.number(),
  })
  .transform(({ subscription_id: subscriptionId, user_id, budgets, debited, ...row }) => ({
    subscriptionId,
    delta: Math.min(row.delta, debited),
    use: { accountId: user_id, claims: budgets ?? '', ...row },
  }));
/** Describes a row that Redis counts although it was booked as missed. */
export type AdoptedUsage = z.output<typeof adoptedRow>;

export interface LiveCorrection {
  subscriptionId: number;
  /** Is the amount by which Redis must still be changed. */
  delta: number;
}

/**
 * Handles usage that did not take the way from Redis through the outbox to PostgreSQL: finals from a node's journal, and events of an ended epoch. It
 * is booked here first and reaches Redis as a credit, so that each unit flows exactly one way (docs/design/metering.md#loss-of-redis-data).
 */
@Injectable()
export class LateUsage {
  constructor(
    private readonly epochs: ShardEpochs,
    private readonly tokens: TokenLedger,
    private readonly live: LiveStateService,
  ) {}

  /** Holds the epochs, by which the other methods decide what is late, as `ShardEpochs` does. */
  holdEpochs(
    ...[tx, accountIds, options]: Parameters<ShardEpochs['hold']>
  ): Promise<Map<string, string>> {
    return this.epochs.hold(tx, accountIds, options);
  }

  /** Returns those of the events booked now that Redis does not know. */
  missedOf(
    booked: readonly ReadEvent[],
    current: ReadonlyMap<string, string>,
    { isLate }: { isLate: boolean },
  ): ReadEvent[] {
    return booked.filter((read) => !isRepeated(read) && (isLate || this.isLate(read, current)));
  }

  /** Events of an ended epoch have no position in today's outbox. */
  async placed(
    tx: EntityManager,
    events: readonly ReadEvent[],
    current: ReadonlyMap<string, string>,
  ): Promise<ReadEvent[]> {
    const found = await this.keptIn(tx, events, current);
    return found.map((read) =>
      this.isLate(read, current)
        ? { ...read, relayed: { ...read.relayed, shard: '', outboxId: '' } }
        : read,
    );
  }

  /** When a restore keeps the data of Redis, its events belong to today's epoch whatever epoch they name: Redis has debited them, and keeps that. */
  private async keptIn(
    tx: EntityManager,
    events: readonly ReadEvent[],
    current: ReadonlyMap<string, string>,
  ): Promise<readonly ReadEvent[]> {
    const late = events.filter(
      (read) => read.relayed.outboxId !== '' && this.isLate(read, current),
    );
    if (late.length === 0) return events;
    const accountIds = late.map(({ event }) => event.payload.account_id);
    const kept = await this.epochs.keptByRestore(tx, accountIds);
    if (kept.size === 0) return events;
    return events.map((read) => {
      const { event, relayed } = read;
      const shard = this.epochs.shardOf(event.payload.account_id);
      const epoch = current.get(shard);
      const isOfBackup = kept.get(shard);
      if (epoch === undefined || isOfBackup === undefined || relayed.outboxId === '') return read;
      return isOfBackup || isOfNoEpoch(relayed)
        ? { ...read, relayed: { ...relayed, epoch } }
        : read;
    });
  }

  private isLate({ event, relayed }: ReadEvent, current: ReadonlyMap<string, string>): boolean {
    return (
      relayed.epoch !== '' &&
      relayed.epoch !== current.get(this.epochs.shardOf(event.payload.account_id))
    );
  }

  /**
   * Finds usage that today's Redis has debited although it counted it already in another way, and gives it back: usage that a journal brought before,
   * or a reap that a filled shard opened with and whose final was settled as a first charge. It never gives back more than the row's amount, and only
   * once: from now on the row has its position in the outbox.
   */
  async adopt(
    tx: EntityManager,
    { booked, duplicates }: { booked: readonly ReadEvent[]; duplicates: readonly ReadEvent[] },
    current: ReadonlyMap<string, string>,
  ): Promise<AdoptedUsage[]> {
    const known = [...duplicates, ...booked.filter(isFirstInRedis)].filter(
      (read) =>
        !isRepeated(read) &&
        read.relayed.outboxId !== '' &&
        read.relayed.epoch !== '' &&
        read.relayed.epoch === current.get(this.epochs.shardOf(read.event.payload.account_id)),
    );
    if (known.length === 0) return [];
    const [rows]: [unknown[], number] = await tx.query(
      `UPDATE usage_events u SET shard = v.shard, outbox_ms = split_part(v.outbox, '-', 1)::bigint, outbox_n = split_part(v.outbox, '-', 2)::bigint
       FROM unnest($1::date[], $2::uuid[], $3::smallint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::text[]) AS v(day, rid, seq, shard, epoch, outbox, delta, corrected, uncounted)
       WHERE u.day = v.day AND u.rid = v.rid AND u.seq = v.seq AND NOT (u.kind = 'withdraw' AND u.seq = 0)
         AND (u.shard IS NULL OR (v.corrected IS NOT NULL AND u.created_at < ${filledAt('v.epoch')}))
       RETURNING u.subscription_id, u.user_id, u.seq, u.delta, u.charge, array_to_string(ARRAY(SELECT unnest(string_to_array(u.budgets, ',')) EXCEPT SELECT unnest(string_to_array(v.uncounted, ','))), ',') AS budgets, CASE WHEN u.kind = 'usage' THEN ${RATED_TOKENS} END AS reported, v.delta - coalesce(v.corrected, 0) AS debited`,
      [
        known.map(dayOf),
        known.map(({ event }) => event.rid),
        known.map((read) => (isFirstInRedis(read) ? 0 : read.event.seq)),
        known.map(({ relayed }) => relayed.shard),
        known.map(({ relayed }) => relayed.epoch),
        known.map(({ relayed }) => relayed.outboxId),
        known.map(({ relayed }) => relayed.delta),
        known.map((read) => (isFirstInRedis(read) ? read.event.delta : null)),
        known.map(({ uncounted = '' }) => uncounted),
      ],
    );
    return rows.map((row) => adoptedRow.parse(row));
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
      await this.live.subscriptionChanged(tx, id);
    }
  }

  /**
   * Numbers events for their first try. A correction (seq 1) rests on a reap: where the whole charge is booked as seq 0, nothing is left to correct.
   * A signed final states the whole charge of its request, so its number and delta from Redis are not believed. `deferred` events must wait until the
   * reaps beside them are booked.
   */
  async fitted(
    tx: EntityManager,
    events: readonly ReadEvent[],
  ): Promise<{ events: ReadEvent[]; deferred: ReadEvent[] }> {
    const reaped = new Set(
      events.flatMap(({ event }) => (event.payload.kind === 'reap' ? [event.rid] : [])),
    );
    const corrections = events.filter(({ event }) => event.seq === 1);
    const booked = await this.bookedByRid(tx, corrections);
    const [deferred, others] = partition(
      events,
      ({ event, isSigned }) => isSigned && reaped.has(event.rid),
    );
    return {
      deferred,
      events: others.flatMap((read) => fitFirst(read, booked.get(read.event.rid))),
    };
  }

  /** Numbers signed finals that were deferred, or whose number another event had, as corrections of a reap (true or forged) to their charge. */
  async refitted(tx: EntityManager, finals: readonly ReadEvent[]): Promise<ReadEvent[]> {
    const booked = await this.bookedByRid(tx, finals);
    return finals.flatMap((read) => {
      const { first, correction } = rowsOf(booked.get(read.event.rid) ?? []);
      if (correction || first?.kind === 'usage') return [];
      return [first ? correcting(read, first.delta) : whole(read)];
    });
  }

  /** Numbers finals from a journal by what is booked of their requests: a first charge, the correction of a reap, or the reap that a correction lacks. */
  async numbered(tx: EntityManager, finals: readonly ReadEvent[]): Promise<ReadEvent[]> {
    const booked = await this.bookedByRid(tx, finals);
    return finals.flatMap((read) => {
      const { payload, rid } = read.event;
      if (payload.kind !== 'usage') return [];
      const { first, correction } = rowsOf(booked.get(rid) ?? []);
      if (first?.kind === 'reap' && !correction) return [correcting(read, first.delta)];
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

  private async bookedByRid(
    tx: EntityManager,
    events: readonly ReadEvent[],
  ): Promise<Map<string, BookedRow[]>> {
    if (events.length === 0) return new Map();
    const rows: unknown[] = await tx.query(
      `SELECT u.rid, u.seq, u.kind, u.delta, u.charge FROM usage_events u JOIN (SELECT DISTINCT * FROM unnest($1::date[], $2::uuid[]) AS w(day, rid)) w USING (day, rid) WHERE u.kind <> 'withdraw'`,
      [events.map(dayOf), events.map(({ event }) => event.rid)],
    );
    return Map.groupBy(
      rows.map((row) => bookedRow.parse(row)),
      ({ rid }) => rid,
    );
  }
}

/** Returns the correction for an event that Redis does not know. */
export function correctionOf({ event }: ReadEvent): LiveCorrection {
  return { subscriptionId: event.payload.subscription_id, delta: -event.delta };
}

/** Returns true for a correction that Redis debited whole, because it did not know what it corrects. */
function isFirstInRedis({ event, relayed }: ReadEvent): boolean {
  return event.payload.kind === 'usage' && event.seq === 1 && relayed.seq === '0';
}

/** Returns whether the event left an outbox without an epoch, or with the mark of a rebuild. Nothing is emitted in either state, so its data is older. */
function isOfNoEpoch({ epoch }: ReadEvent['relayed']): boolean {
  return epoch === 'none' || epoch.startsWith('rebuilding:');
}

function fitFirst(read: ReadEvent, rows: readonly BookedRow[] | undefined): ReadEvent[] {
  if (rows === undefined) return [read.isSigned ? whole(read) : read];
  const { first, correction } = rowsOf(rows);
  if (read.event.seq === 1 && first?.kind === 'usage') return [];
  if (!read.isSigned) return [read];
  if (read.event.seq === 0) return [whole(read)];
  // A duplicate keeps its number, under which it meets its row.
  if (correction) return [read];
  return [first ? correcting(read, first.delta) : whole(read)];
}

function rowsOf(rows: readonly BookedRow[]) {
  return {
    first: rows.find(({ seq }) => seq === 0),
    correction: rows.find(({ seq }) => seq === 1),
  };
}

function whole(read: ReadEvent): ReadEvent {
  const { payload, rid, seq, delta } = read.event;
  return payload.kind === 'usage' && (seq !== 0 || delta !== payload.charge)
    ? { ...read, event: { rid, seq: 0, delta: payload.charge, payload } }
    : read;
}

function correcting(read: ReadEvent, reaped: number): ReadEvent {
  const { payload, rid } = read.event;
  return payload.kind === 'usage'
    ? { ...read, event: { rid, seq: 1, delta: payload.charge - reaped, payload } }
    : read;
}

function partition<T>(list: readonly T[], isFirst: (item: T) => boolean): [T[], T[]] {
  return [list.filter((item) => isFirst(item)), list.filter((item) => !isFirst(item))];
}

function dayOf({ beganAtMs }: ReadEvent): string {
  return new Date(beganAtMs).toISOString().slice(0, 10);
}
