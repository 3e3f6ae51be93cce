import { Inject, Injectable, Optional } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { prepared } from '../../../platform/database/prepared.ts';
import type { ReadEvent } from './read-event.ts';
import {
  COPY_USAGE_EVENTS,
  INSERT_USAGE_EVENTS,
  usageRowParameters,
  usageRowText,
} from './usage-row.ts';

/** A prepared INSERT of fewer rows costs both sides less. */
const COPIED_MIN = 100;
/** A backlog contains finals that nodes repeat, many in a row, and a refused COPY wastes its work, so this many batches are inserted afterwards. */
const INSERTS_AFTER_REFUSAL = 20;

/** Injects the options that specs set. */
const OPTIONS = Symbol('options of UsageRows');
const NOW = prepared('SELECT clock_timestamp()::text AS now');
const nowRow = z.object({ now: z.string() });

/** Writes rows of usage_events. COPY writes many at once with half of an INSERT's CPU, but has no ON CONFLICT. */
@Injectable()
export class UsageRows {
  private insertsLeft = 0;

  constructor(@Optional() @Inject(OPTIONS) private readonly options = { copiedMin: COPIED_MIN }) {}

  /** Returns true when this many rows should be copied. Ask once per batch. */
  mayCopy(rows: number): boolean {
    if (rows < this.options.copiedMin) return false;
    if (this.insertsLeft === 0) return true;
    this.insertsLeft -= 1;
    return false;
  }

  /** Notes that a row existed already: the next batches are inserted. */
  copyRefused(): void {
    this.insertsLeft = INSERTS_AFTER_REFUSAL;
  }

  /** Writes all rows. Throws a data error when one exists already. */
  async copy(tx: EntityManager, events: readonly ReadEvent[]): Promise<ReadEvent[]> {
    if (events.length === 0) return [];
    const unique = [...inKeyOrder(events).values()];
    const [row]: unknown[] = await tx.query(NOW);
    await tx.query(COPY_USAGE_EVENTS, [usageRowText(unique, nowRow.parse(row).now)]);
    return unique;
  }

  /** Writes the rows that did not exist, and returns them. */
  async insert(tx: EntityManager, events: readonly ReadEvent[]): Promise<ReadEvent[]> {
    if (events.length === 0) return [];
    const byKey = inKeyOrder(events);
    const rows: { rid: string; seq: number }[] = await tx.query(
      INSERT_USAGE_EVENTS,
      usageRowParameters([...byKey.values()]),
    );
    return rows.flatMap((row) => byKey.get(usageKeyOf(row)) ?? []);
  }
}

/**
 * Returns the events by key. Of two with one number the earlier one counts, as between batches. They are sorted, so that workers with the same
 * duplicates lock in one order.
 */
function inKeyOrder(events: readonly ReadEvent[]): Map<string, ReadEvent> {
  const byKey = new Map<string, ReadEvent>();
  for (const read of events.toReversed()) byKey.set(usageKeyOf(read.event), read);
  const ordered = new Map<string, ReadEvent>();
  for (const key of [...byKey.keys()].sort()) ordered.set(key, byKey.get(key) as ReadEvent);
  return ordered;
}

export function usageKeyOf({ rid, seq }: { rid: string; seq: number }): string {
  return `${rid.toLowerCase()}:${seq}`;
}
