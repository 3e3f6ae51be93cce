import { Injectable, Optional } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { ADVISORY_LOCKS } from '../../../platform/database/advisory-locks.ts';
import { Host } from '../../../platform/host/host.ts';
import type { DeadLetter } from './dead-letters.sql.ts';
import type { ReadEvent } from './read-event.ts';

const markRow = z.object({ before: z.string() });

/**
 * Knows the days whose single requests are deleted. A final of such a day may have been charged already, and the row that would prove it is gone, so
 * it is set aside for an administrator. Withdrawals are identified by the token ledger, which keeps its entries.
 */
@Injectable()
export class DroppedDays {
  constructor(@Optional() private readonly host: Host = new Host()) {}

  /** Separates the events that may be booked from those that are set aside. The days stay unchanged until the transaction ends. */
  async setAside(
    tx: EntityManager,
    events: readonly ReadEvent[],
  ): Promise<{ kept: readonly ReadEvent[]; aside: DeadLetter[] }> {
    const today = dayOf(this.host.unixMs());
    // The day before yesterday is the first that is ever dropped; one day remains for clocks that differ.
    if (events.every((read) => dayOf(read.beganAtMs) >= today)) return { kept: events, aside: [] };
    await tx.query('SELECT pg_advisory_xact_lock_shared($1)', [ADVISORY_LOCKS.droppedDays]);
    const before = await this.before(tx);
    const isGone = ({ beganAtMs, event }: ReadEvent): boolean =>
      event.payload.kind !== 'withdraw' && dayOf(beganAtMs) < before;
    return {
      kept: events.filter((read) => !isGone(read)),
      aside: events.filter(isGone).map(({ relayed, beganAtMs }) => ({
        relayed,
        reason: `it is of ${dayOf(beganAtMs)}; requests before ${before} were dropped after the retention, so it may have been charged`,
      })),
    };
  }

  /** Call it before the days are dropped, in the same transaction. */
  async drop(tx: EntityManager, before: string): Promise<void> {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.droppedDays]);
    await tx.query('UPDATE usage_dropped_days SET before = greatest(before, $1::date)', [before]);
  }

  private async before(tx: EntityManager): Promise<string> {
    const rows: unknown[] = await tx.query(
      "SELECT CASE WHEN isfinite(before) THEN to_char(before, 'YYYY-MM-DD') ELSE '' END AS before FROM usage_dropped_days",
    );
    return markRow.parse(rows[0]).before;
  }
}

const DAY_MS = 86_400_000;
/** Caches the last day, because nearly all events of a batch are of one day. */
let last = { number: Number.NaN, text: '' };

/** Returns the UTC day as YYYY-MM-DD. */
export function dayOf(atMs: number): string {
  const number = Math.floor(atMs / DAY_MS);
  if (number !== last.number)
    last = { number, text: new Date(number * DAY_MS).toISOString().slice(0, 10) };
  return last.text;
}
