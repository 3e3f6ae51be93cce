import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { prepared } from '../../platform/database/prepared.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { waitingRows, type WaitingRows } from '../../platform/database/waiting-rows.ts';
import { LiveRecordWriter } from './live-record-writer.ts';
import { promisedRow, type LiveRecord } from './live-target.ts';

const SWEEP_EVERY_MS = 1_000;
/** Younger rows belong to the call that wrote them. */
const SWEEP_OLDER_THAN = '2 seconds';
const SWEEP_ROWS = 200;

const WAITING = prepared('SELECT EXISTS (SELECT FROM live_state_outbox) AS is_waiting');
const OVERDUE = prepared(
  `SELECT id FROM live_state_outbox WHERE created_at < now() - interval '${SWEEP_OLDER_THAN}' LIMIT 1`,
);

const waitingRow = z.object({ is_waiting: z.boolean() });

/** Carries promised writes to Redis: at once after their commit, and again from the outbox until they succeeded. Any number of replicas may run it. */
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

  /** Writes the records and forgets their outbox rows. A failure is logged and left to the sweep. */
  async deliver(targets: readonly LiveRecord[], rowIds: readonly string[]): Promise<void> {
    try {
      for (const record of distinct(targets)) await this.writer.write(record);
      await this.transactions.run((tx) =>
        tx.query('DELETE FROM live_state_outbox WHERE id = ANY($1::bigint[])', [rowIds]),
      );
    } catch (error) {
      this.logger.warn(error, 'a live record could not be written yet; the outbox repeats it');
    }
  }

  /** Repeats everything that is overdue, each row by one replica at a time. Throws the first failure, after all others had their turn. */
  async sweep(): Promise<void> {
    if (!(await this.isOverdue())) return;
    const failures: unknown[] = [];
    for (let afterId: string | undefined = '0'; afterId !== undefined;)
      afterId = await this.sweepRows(afterId, failures);
    if (failures.length > 0) throw failures[0];
  }

  /** Returns how many changes of keys, accounts and subscriptions are not in Redis yet. */
  waiting(): Promise<WaitingRows> {
    return waitingRows(this.transactions, 'live_state_outbox');
  }

  /** Nearly always not: a look a second instead of a transaction. */
  private async isOverdue(): Promise<boolean> {
    const [found] = await this.transactions.look(WAITING);
    if (!waitingRow.parse(found).is_waiting) return false;
    return (await this.transactions.query(OVERDUE)).length > 0;
  }

  /** Answers the id to continue after, or undefined when that was all. */
  private sweepRows(afterId: string, failures: unknown[]): Promise<string | undefined> {
    return this.transactions.run(async (tx) => {
      const raw: unknown[] = await tx.query(
        `SELECT id, kind, target_id FROM live_state_outbox WHERE id > $1 AND created_at < now() - interval '${SWEEP_OLDER_THAN}' ORDER BY id LIMIT ${SWEEP_ROWS} FOR UPDATE SKIP LOCKED`,
        [afterId],
      );
      const rows = raw.map((row) => promisedRow.parse(row));
      const written = await this.writeRows(rows, failures);
      await tx.query('DELETE FROM live_state_outbox WHERE id = ANY($1::bigint[])', [written]);
      return rows.length === SWEEP_ROWS ? rows.at(-1)?.rowId : undefined;
    });
  }

  private async writeRows(
    rows: readonly (LiveRecord & { rowId: string })[],
    failures: unknown[],
  ): Promise<string[]> {
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
