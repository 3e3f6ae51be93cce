import { Inject, Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { ADVISORY_LOCKS } from '../../../platform/database/advisory-locks.ts';
import { CONFIG, type Config } from '../../../config.ts';
import { isLockTimeout } from '../../../platform/database/database-errors.ts';
import { Transactions } from '../../../platform/database/transactions.ts';
import { DroppedDays } from './dropped-days.sql.ts';

const DAY_MS = 86_400_000;
/** Days exist ahead, so that days without maintenance do no harm, and behind, for requests that began before the first start's midnight. */
const DAYS_AHEAD = 7;
const DAYS_BEHIND = 1;
/**
 * Creating or dropping a partition needs a lock on the whole table that excludes readers. A backup holds a lock that conflicts, and later reads and
 * bookings queue behind the waiting statement. It therefore waits only this long, and is tried again later.
 */
const LOCK_TIMEOUT = '500ms';
const PARTITION = /^usage_events_(\d{4})(\d{2})(\d{2})$/;

export interface Expired {
  /** Is the first day that stays; empty without a retention. */
  before: string;
  partitions: { table: string; day: string }[];
  /** Lists the days in the default partition. */
  strays: string[];
}

/** Manages one partition of usage_events per day (UTC): it is created ahead and dropped after the retention. Roll-ups and ledgers stay. */
@Injectable()
export class UsagePartitions {
  private readonly logger = new Logger('usage-partitions');

  constructor(
    private readonly dataSource: DataSource,
    private readonly transactions: Transactions,
    private readonly dropped: DroppedDays,
    @Inject(CONFIG) private readonly config: Pick<Config, 'USAGE_RETENTION_DAYS' | 'USAGE_ARCHIVE'>,
  ) {}

  /** Creates the missing days. Returns those that another transaction's lock prevented; rows of such a day go to the default partition. */
  async prepare(nowMs: number): Promise<string[]> {
    const days = Array.from({ length: DAYS_BEHIND + 1 + DAYS_AHEAD }, (_, index) =>
      dayOf(nowMs + (index - DAYS_BEHIND) * DAY_MS),
    );
    const rows: { day: string }[] = await this.dataSource.query(
      `SELECT day FROM unnest($1::text[]) day WHERE to_regclass('usage_events_' || replace(day, '-', '')) IS NULL ORDER BY 1`,
      [days],
    );
    const missing = rows.map(({ day }) => day);
    for (const [index, day] of missing.entries())
      if (!(await this.unlessLocked(() => this.create(day)))) return missing.slice(index);
    return [];
  }

  /** Returns the days that are older than the retention. */
  async expired(nowMs: number): Promise<Expired> {
    const retentionDays = this.config.USAGE_RETENTION_DAYS;
    if (retentionDays === 0) return { before: '', partitions: [], strays: [] };
    const before = dayOf(nowMs - retentionDays * DAY_MS);
    const rows: { name: string }[] = await this.dataSource.query(
      "SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'usage_events'::regclass ORDER BY 1",
    );
    const partitions = rows.flatMap(({ name }) => {
      const [, year, month, day] = PARTITION.exec(name) ?? [];
      const date = `${year}-${month}-${day}`;
      return year !== undefined && date < before ? [{ table: name, day: date }] : [];
    });
    const strays: { day: string }[] = await this.dataSource.query(
      'SELECT DISTINCT day::text FROM usage_events_default WHERE day < $1 ORDER BY 1',
      [before],
    );
    return { before, partitions, strays: strays.map(({ day }) => day) };
  }

  /** Returns the dropped days. With USAGE_ARCHIVE=required, days that were not exported stay. */
  async drop({ before, partitions, strays }: Expired): Promise<string[]> {
    const gone: string[] = [];
    for (const partition of partitions)
      if (await this.dropPartition(partition, before)) gone.push(partition.day);
    const hasDeleted = await this.transactions.run(async (tx) => {
      await limitWait(tx);
      for (const day of strays)
        if (!(await this.mayGo(tx, { table: 'usage_events_default', day }))) return false;
      if (strays.length === 0) return false;
      await this.dropped.drop(tx, before);
      for (const day of strays) await tx.query('SELECT drop_usage_day($1)', [day]);
      return true;
    });
    return hasDeleted ? [...gone, ...strays] : gone;
  }

  /** Returns false when the lock was not available in time. */
  async unlessLocked(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (isLockTimeout(error)) return false;
      throw error;
    }
  }

  private async create(day: string): Promise<void> {
    await this.transactions.run(async (tx) => {
      await limitWait(tx);
      await tx.query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.usagePartitions]);
      // Rows that came before their partition are in the default one, where they are as safe as in any other.
      const stray: unknown[] = await tx.query(
        'SELECT 1 FROM usage_events_default WHERE day = $1 LIMIT 1',
        [day],
      );
      if (stray.length > 0) return;
      await tx.query('SELECT create_usage_day($1)', [day]);
    });
  }

  /** Two replicas that drop one partition at the same time fail on PostgreSQL's catalogue, despite IF EXISTS. */
  private async dropPartition(
    { table, day }: { table: string; day: string },
    before: string,
  ): Promise<boolean> {
    const isDropped = await this.transactions.run(async (tx) => {
      await limitWait(tx);
      await tx.query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.usagePartitions]);
      if (!(await this.mayGo(tx, { table, day }))) return false;
      await this.dropped.drop(tx, before);
      await tx.query('SELECT drop_usage_day($1)', [day]);
      return true;
    });
    if (isDropped) this.logger.log(`dropped ${table}: it is older than the retention`);
    return isDropped;
  }

  /** Returns whether a day may be dropped: USAGE_ARCHIVE=required demands that all of its rows were exported. The lock prevents a late row in between. */
  private async mayGo(
    tx: EntityManager,
    { table, day }: { table: string; day: string },
  ): Promise<boolean> {
    if (this.config.USAGE_ARCHIVE !== 'required') return true;
    const isThere: unknown[] = await tx.query('SELECT 1 WHERE to_regclass($1) IS NOT NULL', [
      table,
    ]);
    if (isThere.length === 0) return false;
    await tx.query('SELECT lock_usage_day($1)', [day]);
    const unexported: unknown[] = await tx.query(
      `SELECT 1 FROM (SELECT count(*) AS rows FROM usage_events WHERE day = $1) now
       WHERE now.rows > 0 AND now.rows IS DISTINCT FROM (SELECT rows FROM usage_archives WHERE day = $1)`,
      [day],
    );
    if (unexported.length > 0)
      this.logger.warn(`${day} is older than the retention and waits for tollgate-ops export`);
    return unexported.length === 0;
  }
}

async function limitWait(tx: EntityManager): Promise<void> {
  await tx.query("SELECT set_config('lock_timeout', $1, true)", [LOCK_TIMEOUT]);
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
