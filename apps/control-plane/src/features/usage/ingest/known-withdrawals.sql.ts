import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import {
  readBegunWithdrawals,
  type WithdrawalRef,
} from '../../subscriptions/read-subscriptions.sql.ts';
import { dayOf } from './dropped-days.sql.ts';
import { isRequestId, uuidTimeMs, type ReadEvent } from './read-event.ts';

const knownRow = z.object({ id: z.string(), subscription_id: z.number() });

/**
 * Decides which withdrawals are believed. They carry no MAC, because Redis' functions make them, so their id must be one that PostgreSQL has given to
 * this subscription: its last one, or an earlier one that is booked.
 */
@Injectable()
export class KnownWithdrawals {
  constructor(private readonly dataSource: DataSource) {}

  /** Returns events of withdrawals that never began here. */
  async unknownOf(events: readonly ReadEvent[]): Promise<ReadonlySet<ReadEvent>> {
    const named = events.flatMap((read) => {
      const { rid, seq, payload } = read.event;
      if (payload.kind !== 'withdraw') return [];
      const { withdrawal_id: id, subscription_id: subscriptionId } = payload;
      const isWhole = isRequestId(id) && (seq !== 0 || rid === id);
      return [{ read, key: isWhole ? keyOf({ id, subscriptionId }) : null, id, subscriptionId }];
    });
    if (named.length === 0) return new Set();
    const asked = named.filter(({ key }) => key !== null);
    const known = asked.length === 0 ? new Set() : await this.read(asked);
    return new Set(named.filter(({ key }) => !known.has(key)).map(({ read }) => read));
  }

  /** Reads the last withdrawals. One that is no longer its subscription's last is booked, so the second query finds those that the first one missed. */
  private async read(asked: readonly WithdrawalRef[]): Promise<Set<string | null>> {
    const begun = new Set((await readBegunWithdrawals(this.dataSource, asked)).map(keyOf));
    const others = asked.filter((one) => !begun.has(keyOf(one)));
    if (others.length === 0) return begun;
    const rows: unknown[] = await this.dataSource.query(
      `SELECT w.id, w.subscription_id FROM unnest($1::uuid[], $2::int[], $3::date[]) AS w(id, subscription_id, day)
       WHERE EXISTS (SELECT FROM usage_events u WHERE u.day = w.day AND u.rid = w.id AND u.seq = 0 AND u.kind = 'withdraw' AND u.subscription_id = w.subscription_id)`,
      [
        others.map(({ id }) => id),
        others.map(({ subscriptionId }) => subscriptionId),
        others.map(({ id }) => dayOf(uuidTimeMs(id))),
      ],
    );
    const booked = rows
      .map((row) => knownRow.parse(row))
      .map(({ id, subscription_id: subscriptionId }) => keyOf({ id, subscriptionId }));
    return new Set([...begun, ...booked]);
  }
}

function keyOf({ id, subscriptionId }: WithdrawalRef): string {
  return `${id} ${subscriptionId}`;
}
