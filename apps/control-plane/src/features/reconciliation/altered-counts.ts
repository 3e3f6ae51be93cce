import { Injectable, Logger } from '@nestjs/common';
import {
  LiveCounts,
  LiveRecords,
  type BalanceMark,
  type SubscriptionRef,
} from '@tollgate/keyspace';
import { DataSource, type EntityManager } from 'typeorm';
import { Transactions } from '../../platform/database/transactions.ts';
import type { AlertDetail } from '../alerts/alert-rules.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { LiveRecordWriter } from '../live-state/live-record-writer.ts';
import { TokenLedger } from '../subscriptions/token-ledger.service.ts';
import { idsOf, misnumberedOf, strangeOf } from './drift.sql.ts';
import { unreadable } from './unreadable.ts';

export type Subscription = SubscriptionRef & { id: number };

export interface Marks {
  readable: BalanceMark[];
  /** The record has a field or a type that Tollgate's functions never write, or names another subscription. */
  unreadable: Subscription[];
}

interface Corrected {
  marks: BalanceMark[];
  altered: ReadonlySet<number>;
}

/**
 * Finds and corrects counts in Redis that Tollgate's functions cannot have made: credits that PostgreSQL has not given or that Redis lacks, held
 * tokens without a request, and records that cannot be read or differ from their row. Each raises the alert `drift`.
 */
@Injectable()
export class AlteredCounts {
  private readonly logger = new Logger('reconciliation');

  constructor(
    private readonly dataSource: DataSource,
    private readonly transactions: Transactions,
    private readonly records: LiveRecords,
    private readonly counts: LiveCounts,
    private readonly writer: LiveRecordWriter,
    private readonly tokens: TokenLedger,
    private readonly alerts: AlertsService,
  ) {}

  /** Returns the marks of those subscriptions that Redis has. */
  async marks(subscriptions: readonly Subscription[]): Promise<Marks> {
    const found = await Promise.all(
      subscriptions.map(async (ref) => {
        const mark = await this.records.mark(ref).catch(unreadable);
        return mark === null || mark === 'unreadable' || mark.id === ref.id ? mark : 'unreadable';
      }),
    );
    return {
      readable: found.filter((mark) => mark !== null && mark !== 'unreadable'),
      unreadable: subscriptions.filter((_, index) => found[index] === 'unreadable'),
    };
  }

  /** Returns marks of these subscriptions after altered records are corrected and lost credits are sent again; `altered` lists the altered ones by id. */
  async corrected(subscriptions: readonly Subscription[]): Promise<Corrected> {
    const { readable, unreadable: unread } = await this.marks(subscriptions);
    const strange = await strangeOf(this.dataSource, readable);
    const lost = [...unread, ...subscriptions.filter(({ id }) => strange.has(id))];
    const sound = readable.filter(({ id }) => !strange.has(id));
    const given = await misnumberedOf(this.dataSource, sound);
    const altered = new Set([...given.keys(), ...lost.map(({ id }) => id)]);
    if (altered.size === 0) return { marks: readable, altered };
    for (const mark of sound) await this.renumber(mark, given.get(mark.id) ?? mark.creditSeq);
    for (const subscription of lost) await this.openAnew(subscription);
    const again = await this.marks(subscriptions.filter(({ id }) => altered.has(id)));
    return {
      marks: [...readable.filter(({ id }) => !altered.has(id)), ...again.readable],
      altered,
    };
  }

  /** Marks balances that agree with the ledger as spendable, whatever Redis' server remembers of them. */
  async vouch(marks: readonly BalanceMark[]): Promise<void> {
    await Promise.all(marks.map((mark) => this.counts.vouch(mark)));
  }

  /** Corrects the credit number. Unless Redis also lost more than is repeated, no balance drifts. */
  private async renumber(mark: BalanceMark, last: number): Promise<void> {
    const { id, creditSeq: counted } = mark;
    if (counted > last) await this.setBack(mark);
    if (counted >= last) return;
    const message = `Subscription ${id}: Redis has lost credits: it had ${last} and has ${counted}; the others are sent again`;
    await this.report(this.dataSource.manager, id, message, {
      kind: 'lost_credits',
      counted,
      last,
    });
    await this.writer.write({ kind: 'subscription', id });
  }

  /** Makes credits from now on count again. The remaining difference of the balance is drift, which the caller looks for next. */
  private setBack(mark: BalanceMark): Promise<void> {
    return this.transactions.run(async (tx) => {
      // The lock prevents a new credit number meanwhile.
      const { creditSeq } = await this.tokens.lockOne(tx, mark.id);
      if (mark.creditSeq <= creditSeq) return;
      const message = `Subscription ${mark.id}: Redis counted ${mark.creditSeq} credits, of which PostgreSQL has given ${creditSeq}; it has been set back`;
      await this.report(tx, mark.id, message, {
        kind: 'credits',
        counted: mark.creditSeq,
        given: creditSeq,
      });
      await this.counts.resetCredits({ ...mark, foundSeq: mark.creditSeq, seq: creditSeq });
    });
  }

  private async openAnew({ id }: Subscription): Promise<void> {
    const message = `Subscription ${id}: its record in Redis could not be read, or is not what the ledger wrote; it is rewritten from the ledger`;
    await this.report(this.dataSource.manager, id, message, { kind: 'unreadable' });
    await this.writer.openAnew(id);
  }

  /** Returns the ids of subscriptions whose held tokens or running requests were wrong: of these, and of all in the same shards. */
  recount(subscriptions: readonly SubscriptionRef[] | 'all'): Promise<number[]> {
    return this.reportRecounted(
      subscriptions === 'all'
        ? this.counts.recountAllHolds()
        : this.counts.recountHolds(subscriptions),
    );
  }

  private async reportRecounted(found: ReturnType<LiveCounts['recountHolds']>): Promise<number[]> {
    const ids: number[] = [];
    const { subscriptions, budgets } = await found;
    for (const { budgetId, before, held } of budgets) {
      const message = `Budget ${budgetId}: Redis had ${before} of it held, running requests hold ${held}; it has been recounted`;
      const detail = { kind: 'budget', before, held } as const;
      await this.raise(this.dataSource.manager, `budget:${budgetId}`, { message, detail });
    }
    for (const { accountId, modelId, before, held } of subscriptions) {
      for (const id of await idsOf(this.dataSource, { accountId, modelId })) {
        const message = `Subscription ${id}: Redis had ${before} tokens held, its running requests hold ${held.toLocaleString('en')}; it has been recounted`;
        await this.report(this.dataSource.manager, id, message, { kind: 'held', before, held });
        ids.push(id);
      }
    }
    return ids;
  }

  private report(
    tx: EntityManager,
    id: number,
    message: string,
    detail: AlertDetail<'drift'>,
  ): Promise<void> {
    return this.raise(tx, `subscription:${id}`, { message, detail });
  }

  private async raise(
    tx: EntityManager,
    subject: string,
    { message, detail }: { message: string; detail: AlertDetail<'drift'> },
  ): Promise<void> {
    this.logger.error(message);
    await this.alerts.raise(tx, { rule: 'drift', subject, message, detail });
  }
}
