import { Injectable } from '@nestjs/common';
import { Watch } from '../../../platform/background/watch.ts';
import { Transactions } from '../../../platform/database/transactions.ts';
import { AlertsService } from '../../alerts/alerts.service.ts';
import { UsagePartitions } from './usage-partitions.sql.ts';

const EVERY_MS = 3_600_000;
const RETRY_MS = 60_000;
const DAY_MS = 86_400_000;
/** This many days must exist ahead; fewer raise an alert, two days before rows go to the default partition. */
const DAYS_AHEAD_MIN = 2;
const ALERT = { rule: 'partitions_late', subject: 'table:usage_events' } as const;

/** Creates days of usage_events ahead of time and drops expired ones in the background; starts and requests never wait for it. */
@Injectable()
export class PartitionKeeper extends Watch {
  constructor(
    private readonly partitions: UsagePartitions,
    private readonly transactions: Transactions,
    private readonly alerts: AlertsService,
  ) {
    super({
      name: 'usage-partitions',
      everyMs: EVERY_MS,
      retryMs: RETRY_MS,
      failing: 'days of usage_events cannot be made or dropped; trying again',
    });
  }

  override async onApplicationBootstrap(): Promise<void> {
    // The days of a new installation exist before its first request. Where a lock prevents that, the loop creates them.
    await this.partitions.prepare(Date.now());
    await super.onApplicationBootstrap();
  }

  async look(nowMs = Date.now()): Promise<void> {
    const missing = await this.partitions.prepare(nowMs);
    await this.report(missing, nowMs);
    const isDropped = await this.partitions.unlessLocked(async () =>
      this.partitions.drop(await this.partitions.expired(nowMs)),
    );
    if (missing.length > 0 || !isDropped)
      throw new Error('usage_events is locked by another transaction, such as a backup');
  }

  private async report([first]: readonly string[], nowMs: number): Promise<void> {
    const isLate = first !== undefined && Date.parse(first) < nowMs + DAYS_AHEAD_MIN * DAY_MS;
    await this.transactions.run(async (tx) => {
      if (!isLate) return this.alerts.resolve(tx, ALERT);
      await this.alerts.raise(tx, {
        ...ALERT,
        message: `The day ${first} of usage_events cannot be made, because another transaction holds a lock: requests of that day will be slower to find`,
        detail: { day: first },
      });
    });
  }
}
