import { Injectable } from '@nestjs/common';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { waitingRows, type WaitingRows } from '../../platform/database/waiting-rows.ts';
import {
  forgetWrites,
  isWriteOverdue,
  lockOverdue,
  OVERDUE_ROWS,
  type PromisedRecord,
} from './live-outbox.sql.ts';
import { LiveRecordWriter } from './live-record-writer.ts';
import type { LiveRecord } from './live-target.ts';

const SWEEP_EVERY_MS = 1_000;

/** Sends promised writes to Redis: directly after their commit, and again from the outbox until they succeed. Any number of replicas may run it. */
@Injectable()
export class LiveStatePump extends BackgroundService {
  constructor(
    private readonly transactions: Transactions,
    private readonly writer: LiveRecordWriter,
  ) {
    super({
      name: 'live-state',
      everyMs: SWEEP_EVERY_MS,
      failing: 'the outbox of live records cannot be swept; trying again every second',
      stopsFirst: true,
    });
  }

  protected runOnce(): Promise<void> {
    return this.sweep();
  }

  /** Writes the records and deletes their outbox rows. A failure is logged and left to the sweep. */
  async deliver(targets: readonly LiveRecord[], rowIds: readonly string[]): Promise<void> {
    try {
      for (const record of distinct(targets)) await this.writer.write(record);
      await this.transactions.run((tx) => forgetWrites(tx, rowIds));
    } catch (error) {
      this.logger.warn(error, 'a live record could not be written yet; the outbox repeats it');
    }
  }

  /** Repeats all overdue writes; one replica at a time repeats a row. Throws the first failure after it has tried the others. */
  async sweep(): Promise<void> {
    if (!(await isWriteOverdue(this.transactions))) return;
    const failures: unknown[] = [];
    for (let afterId: string | undefined = '0'; afterId !== undefined;)
      afterId = await this.sweepRows(afterId, failures);
    if (failures.length > 0) throw failures[0];
  }

  /** Returns how many changes of keys, accounts and subscriptions are not in Redis yet. */
  waiting(): Promise<WaitingRows> {
    return waitingRows(this.transactions, 'live_state_outbox');
  }

  /** Returns the id after which to continue, or undefined when no row is left. */
  private sweepRows(afterId: string, failures: unknown[]): Promise<string | undefined> {
    return this.transactions.run(async (tx) => {
      const rows = await lockOverdue(tx, afterId);
      const written = await this.writeRows(rows, failures);
      await forgetWrites(tx, written);
      return rows.length === OVERDUE_ROWS ? rows.at(-1)?.rowId : undefined;
    });
  }

  private async writeRows(rows: readonly PromisedRecord[], failures: unknown[]): Promise<string[]> {
    const written: string[] = [];
    for (const record of distinct(rows)) {
      try {
        await this.writer.write(record);
        written.push(...rows.filter((row) => sameRecord(row, record)).map((row) => row.rowId));
      } catch (error) {
        failures.push(error);
      }
    }
    return written;
  }
}

function distinct(targets: readonly LiveRecord[]): LiveRecord[] {
  return [...new Map(targets.map((record) => [`${record.kind}:${record.id}`, record])).values()];
}

function sameRecord(one: LiveRecord, other: LiveRecord): boolean {
  return one.kind === other.kind && one.id === other.id;
}
