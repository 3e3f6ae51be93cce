import { Injectable } from '@nestjs/common';
import type { RelayedEvent } from '@tollgate/contracts';
import type { EntityManager } from 'typeorm';
import type { DeadLetter } from './dead-letters.sql.ts';
import { DroppedDays } from './dropped-days.sql.ts';
import { DroppedTelemetry } from './dropped-telemetry.ts';
import { KnownFacts } from './known-facts.ts';
import { KnownWithdrawals } from './known-withdrawals.sql.ts';
import { readEvent, type ReadEvent } from './read-event.ts';

/** Decides which events of a batch may be booked, and why the others may not. */
@Injectable()
export class EventJudge {
  constructor(
    private readonly facts: KnownFacts,
    private readonly withdrawals: KnownWithdrawals,
    private readonly dropped: DroppedTelemetry,
    private readonly days: DroppedDays,
  ) {}

  async judge(
    relayed: readonly RelayedEvent[],
  ): Promise<{ sound: ReadEvent[]; poison: DeadLetter[] }> {
    const poison: DeadLetter[] = [];
    const reads: ReadEvent[] = [];
    for (const event of relayed) {
      const reading = readEvent(event);
      if (reading.kind === 'event') reads.push(reading.read);
      else poison.push(reading);
    }
    this.dropped.note(reads);
    const facts = await this.facts.load(reads);
    const strangers = await this.withdrawals.unknownOf(reads);
    const sound: ReadEvent[] = [];
    for (const asRead of reads) {
      const read = this.facts.corrected(asRead, facts);
      const reason =
        this.facts.faultOf(read, facts) ??
        (strangers.has(asRead) ? 'forged: the subscription has no such withdrawal' : null);
      if (reason === null) sound.push(read);
      else poison.push({ relayed: read.relayed, reason });
    }
    return { sound, poison };
  }

  /** Sets aside valid events whose day of usage is dropped, because it is unknown whether they are booked already. */
  setAside(tx: EntityManager, sound: readonly ReadEvent[]): ReturnType<DroppedDays['setAside']> {
    return this.days.setAside(tx, sound);
  }
}
