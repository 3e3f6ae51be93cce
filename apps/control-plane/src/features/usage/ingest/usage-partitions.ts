import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CONFIG, type Config } from '../../../config.ts';
import { Transactions } from '../../../platform/database/transactions.ts';
import { DroppedDays } from './dropped-days.ts';
import { Housekeeping } from '../../../platform/housekeeping/housekeeping.ts';

const DAY_MS = 86_400_000;
/** Ahead, so that an hour's outage of maintenance costs nothing. Behind, for requests that began before the first start's midnight. */
const DAYS_AHEAD = 7;
const DAYS_BEHIND = 1;
/** Any number; the same in every replica. */
const MAINTENANCE_LOCK = 7_001_010;
const PARTITION = /^usage_events_(\d{4})(\d{2})(\d{2})$/;

/** One partition of usage_events a day (UTC): made ahead, dropped after the retention. Roll-ups and ledgers stay. */
@Injectable()
export class UsagePartitions implements OnApplicationBootstrap {
  private readonly logger = new Logger('usage-partitions');

  constructor(
    private readonly dataSource: DataSource,
    private readonly transactions: Transactions,
    private readonly housekeeping: Housekeeping,
    private readonly dropped: DroppedDays,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.maintain(Date.now());
    this.housekeeping.add('partitions of usage', () => this.maintain(Date.now()));
  }

  async maintain(nowMs: number): Promise<void> {
    for (let offset = -DAYS_BEHIND; offset <= DAYS_AHEAD; offset += 1)
      await this.create(nowMs + offset * DAY_MS);
    const retentionDays = this.config.USAGE_RETENTION_DAYS;
    if (retentionDays > 0) await this.dropBefore(nowMs - retentionDays * DAY_MS);
  }

  private async create(atMs: number): Promise<void> {
    const [from, to] = [dayOf(atMs), dayOf(atMs + DAY_MS)];
    await this.transactions.run(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock($1)', [MAINTENANCE_LOCK]);
      // Rows that came before their partition live in the default one, where they stay as good as anywhere.
      const stray: unknown[] = await tx.query(
        'SELECT 1 FROM usage_events_default WHERE day = $1 LIMIT 1',
        [from],
      );
      if (stray.length > 0) return;
      await tx.query(
        `CREATE TABLE IF NOT EXISTS usage_events_${from.replaceAll('-', '')} PARTITION OF usage_events FOR VALUES FROM ('${from}') TO ('${to}')`,
      );
    });
  }

  private async dropBefore(limitMs: number): Promise<void> {
    const rows: { name: string }[] = await this.dataSource.query(
      "SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'usage_events'::regclass",
    );
    const before = dayOf(limitMs);
    for (const { name } of rows) {
      const [, year, month, day] = PARTITION.exec(name) ?? [];
      if (year !== undefined && `${year}-${month}-${day}` < before) await this.drop(name, before);
    }
    await this.transactions.run(async (tx) => {
      const strays: unknown[] = await tx.query(
        'SELECT 1 FROM usage_events_default WHERE day < $1 LIMIT 1',
        [before],
      );
      if (strays.length === 0) return;
      await this.dropped.drop(tx, before);
      await tx.query('DELETE FROM usage_events_default WHERE day < $1', [before]);
    });
  }

  /** Two replicas that drop one partition at the same time fail on PostgreSQL's catalogue, in spite of IF EXISTS. */
  private async drop(name: string, before: string): Promise<void> {
    await this.transactions.run(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock($1)', [MAINTENANCE_LOCK]);
      await this.dropped.drop(tx, before);
      await tx.query(`DROP TABLE IF EXISTS ${name}`);
    });
    this.logger.log(`dropped ${name}: it is older than the retention`);
  }
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
