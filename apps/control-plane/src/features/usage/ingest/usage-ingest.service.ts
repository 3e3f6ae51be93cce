import { Injectable, Logger, Optional } from '@nestjs/common';
import type { RelayedEvent } from '@tollgate/contracts';
import type { EntityManager } from 'typeorm';
import { isDataError, isRefusedData } from './data-error.ts';
import { Transactions } from '../../../platform/database/transactions.ts';
import { Host } from '../../../platform/host/host.ts';
import { TokenLedger, type LockedSubscription } from '../../subscriptions/token-ledger.service.ts';
import { WithdrawalBooking } from '../../subscriptions/withdrawal-booking.sql.ts';
import { bookDeadLetters, type DeadLetter } from './dead-letters.sql.ts';
import { EventJudge } from './event-judge.ts';
import { correctionOf, LateUsage } from './late-usage.sql.ts';
import { BookedFacts, overdraftsOf, overdrawnSince } from './booked-facts.ts';
import type { ReadEvent } from './read-event.ts';
import { usageKeyOf, UsageRows } from './usage-rows.sql.ts';

/**
 * Books a batch of events in one transaction: usage rows, token ledger, roll-ups, refunds. It is idempotent by (rid, seq) and independent of order,
 * so any duplicate, reordering or retry ends in the same rows (docs/design/metering.md#booking).
 */
@Injectable()
export class UsageIngest {
  private readonly logger = new Logger('usage-ingest');

  constructor(
    private readonly transactions: Transactions,
    private readonly judge: EventJudge,
    private readonly tokens: TokenLedger,
    private readonly booking: WithdrawalBooking,
    private readonly facts: BookedFacts,
    private readonly late: LateUsage,
    private readonly rows: UsageRows,
    @Optional() private readonly host: Host = new Host(),
  ) {}

  /**
   * Returns what was booked now; the other events were duplicates or poison. `fromJournal` holds finals of one shard that Redis would not take, each
   * as its first charge, which are numbered here. `forged` holds events that `FinalProofs` did not believe, which are set aside with the rest.
   */
  async ingest(
    relayed: readonly RelayedEvent[],
    source: Source = { fromJournal: false },
    forged: readonly DeadLetter[] = [],
  ): Promise<ReadEvent[]> {
    const { sound, poison } = await this.judge.judge(relayed);
    poison.push(...forged.map((letter) => ({ ...letter, isEvidence: true })));
    const batch = { sound, poison, ...source };
    return (await this.copy(batch)) ?? this.insert(batch);
  }

  /** Returns null when PostgreSQL refused the batch; nothing of it is then booked. */
  private async copy(batch: Batch): Promise<ReadEvent[] | null> {
    if (batch.fromJournal || !this.rows.mayCopy(batch.sound.length)) return null;
    try {
      return await this.transactions.run((tx) => this.book(tx, { ...batch, isCopied: true }));
    } catch (error) {
      if (!isRefusedData(error)) throw error;
      this.rows.copyRefused();
      return null;
    }
  }

  private async insert(batch: Batch): Promise<ReadEvent[]> {
    try {
      return await this.transactions.run((tx) => this.book(tx, batch));
    } catch (error) {
      if (!isDataError(error)) throw error;
      this.logger.error(error, 'PostgreSQL refused a batch; its events are booked one by one');
      return this.bookOneByOne(batch);
    }
  }

  /** Returns why this event could not be booked; null if it can be, or is. */
  async faultOf(relayed: RelayedEvent): Promise<string | null> {
    return (await this.judge.judge([relayed])).poison[0]?.reason ?? null;
  }

  private async book(
    tx: EntityManager,
    { sound, poison, fromJournal, isCopied = false, isConfirmed = false, isLate = false }: Batch,
  ): Promise<ReadEvent[]> {
    const accountIds = sound.map((read) => read.event.payload.account_id);
    const epochs = await this.late.holdEpochs(tx, accountIds, { alone: fromJournal });
    const { kept, aside } = isConfirmed
      ? { kept: sound, aside: [] }
      : await this.judge.setAside(tx, sound);
    const { booked, duplicates } = await this.write(tx, {
      sound: await this.facts.claimed(tx, await this.late.placed(tx, kept, epochs)),
      fromJournal,
      isCopied,
    });
    // Letters come after the booking: an event whose number is booked, in this batch or before, is a duplicate whatever its content.
    const letters = [...poison, ...aside];
    const newLetters = await bookDeadLetters(tx, letters);
    const adopted = await this.late.adopt(tx, { booked, duplicates }, epochs);
    const locked = await this.tokens.lock(tx, [
      ...new Set([
        ...booked.map((read) => read.event.payload.subscription_id),
        ...adopted.map(({ subscriptionId }) => subscriptionId),
      ]),
    ]);
    const overdraftBefore = overdraftsOf(locked);
    await this.tokens.charge(tx, `usage:${this.host.uuid()}`, netDeltas(booked), locked);
    // Usage comes first: a correction in this batch may bring the tokens that a withdrawal of the same request takes out.
    for (const read of booked)
      if (read.event.payload.kind === 'withdraw') await this.withdraw(tx, read, locked);
    const missed = this.late.missedOf(booked, epochs, { isLate: fromJournal || isLate });
    await this.late.correct(tx, [...missed.map(correctionOf), ...adopted], locked);
    await this.facts.sum(tx, { booked, missed, adopted });
    await this.facts.raiseAlerts(tx, {
      overdrawn: overdrawnSince(overdraftBefore, locked),
      newLetters,
      reason: letters[0]?.reason,
    });
    return booked;
  }

  /** Writes in two steps: another worker may be booking the event that a signed final corrects, which is visible after its commit. */
  private async write(
    tx: EntityManager,
    { sound, fromJournal, isCopied }: Pick<Required<Batch>, 'sound' | 'fromJournal' | 'isCopied'>,
  ): Promise<{ booked: ReadEvent[]; duplicates: ReadEvent[] }> {
    const { events, deferred } = fromJournal
      ? { events: await this.late.numbered(tx, sound), deferred: [] }
      : await this.late.fitted(tx, sound);
    const first = await (isCopied ? this.rows.copy(tx, events) : this.rows.insert(tx, events));
    const duplicates = first.length === events.length ? [] : without(events, first);
    const doubted = [...deferred, ...duplicates.filter(({ isSigned }) => isSigned)];
    const second = fromJournal
      ? []
      : await this.rows.insert(tx, await this.late.refitted(tx, doubted));
    return { booked: [...first, ...second], duplicates: without(duplicates, second) };
  }

  private async withdraw(
    tx: EntityManager,
    { event }: ReadEvent,
    locked: ReadonlyMap<number, LockedSubscription>,
  ): Promise<void> {
    if (event.payload.kind !== 'withdraw') return;
    const subscription = locked.get(event.payload.subscription_id);
    if (!subscription) throw new Error(`subscription ${event.payload.subscription_id} vanished`);
    await this.booking.book(tx, subscription, {
      reference: `withdrawal:${event.rid}:${event.seq}`,
      tokens: event.delta,
      closes: event.seq === 0 ? event.payload.withdrawal_id : null,
    });
  }

  private async bookOneByOne({ sound, poison, ...source }: Batch): Promise<ReadEvent[]> {
    await this.transactions.run((tx) => this.book(tx, { sound: [], poison, ...source }));
    const booked: ReadEvent[] = [];
    for (const read of sound) booked.push(...(await this.bookOne(read, source)));
    return booked;
  }

  private async bookOne(read: ReadEvent, source: Source): Promise<ReadEvent[]> {
    try {
      return await this.transactions.run((tx) =>
        this.book(tx, { sound: [read], poison: [], ...source }),
      );
    } catch (error) {
      if (!isDataError(error)) throw error;
      const letter = { relayed: read.relayed, reason: `PostgreSQL refused it: ${error.message}` };
      return this.transactions.run((tx) =>
        this.book(tx, { sound: [], poison: [letter], ...source }),
      );
    }
  }
}

interface Source {
  fromJournal: boolean;
  /** Is true when a person decided to book it although its day was dropped. */
  isConfirmed?: boolean;
  /** Is true for events that Redis does not have: finals from a journal, and letters whose balance was compared. */
  isLate?: boolean;
}

interface Batch extends Source {
  sound: readonly ReadEvent[];
  poison: readonly DeadLetter[];
  /** Is true for a copy, which fails as a whole where a row exists already. */
  isCopied?: boolean;
}

function without(events: readonly ReadEvent[], booked: readonly ReadEvent[]): ReadEvent[] {
  const keys = new Set(booked.map(({ event }) => usageKeyOf(event)));
  return events.filter(({ event }) => !keys.has(usageKeyOf(event)));
}

/** Sums usage and reaps per subscription; withdrawals move tokens in another way. The result has every subscription of the batch, in id order. */
function netDeltas(booked: readonly ReadEvent[]): Map<number, number> {
  const sums = new Map<number, number>();
  for (const { event } of booked) {
    if (event.payload.kind === 'withdraw') continue;
    const id = event.payload.subscription_id;
    sums.set(id, (sums.get(id) ?? 0) + event.delta);
  }
  return new Map([...sums].toSorted(([a], [b]) => a - b));
}
