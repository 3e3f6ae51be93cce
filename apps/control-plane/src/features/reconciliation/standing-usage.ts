import { Inject, Injectable, Optional } from '@nestjs/common';
import { USAGE_QUEUE } from '@tollgate/contracts';
import { LiveRecords, shardNames } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { Watch } from '../../platform/background/watch.ts';
import { Host } from '../../platform/host/host.ts';
import { QueueBacklog } from '../../platform/queues/queue-backlog.ts';
import type { AlertDetail } from '../alerts/alert-rules.ts';
import { AlertsService } from '../alerts/alerts.service.ts';

const LOOK_MS = 15_000;
const STANDING_MS = 60_000;
const RULE = 'settlement_backlog';

/** Is the next usage of a line. */
interface Head {
  id: string | null;
  sinceMs: number;
}

/** Is a place at which usage waits, with its name in the alert. */
interface Line {
  subject: string;
  where: string;
  detail: AlertDetail<typeof RULE>;
}

/**
 * Raises `settlement_backlog` where the same usage has been next for a minute, in a shard's outbox or in the queue: with little traffic a node's
 * count never reaches its limit. Only this process' clock counts, so that a clock that steps hides nothing.
 */
@Injectable()
export class StandingUsage extends Watch {
  /** Maps the subject of an alert to its line. */
  private readonly heads = new Map<string, Head>();

  constructor(
    private readonly dataSource: DataSource,
    private readonly records: LiveRecords,
    private readonly backlog: QueueBacklog,
    private readonly alerts: AlertsService,
    @Inject(CONFIG) private readonly config: Pick<Config, 'SHARDS'>,
    @Optional() private readonly host: Host = new Host(),
  ) {
    super({
      name: 'standing-usage',
      everyMs: LOOK_MS,
      failing: 'waiting usage cannot be watched; trying again',
    });
  }

  /** Checks all lines, also when one cannot be read; then throws the first failure. */
  async look(): Promise<void> {
    const failures: unknown[] = [];
    const note = (...line: Parameters<StandingUsage['note']>): Promise<unknown> =>
      this.note(...line).catch((error: unknown) => failures.push(error));
    for (const shard of shardNames(this.config.SHARDS))
      await note(
        {
          subject: `shard:${shard}`,
          where: `the outbox of shard ${shard}`,
          detail: { kind: 'outbox', shard },
        },
        () => this.records.oldestEvent(shard),
      );
    await note(
      {
        subject: `queue:${USAGE_QUEUE}`,
        where: `the queue ${USAGE_QUEUE}`,
        detail: { kind: 'queue', queue: USAGE_QUEUE },
      },
      async () => {
        const { oldestAtMs } = await this.backlog.standing(USAGE_QUEUE);
        return oldestAtMs === null ? null : String(oldestAtMs);
      },
    );
    if (failures.length > 0) throw failures[0];
  }

  private async note(
    { subject, where, detail }: Line,
    next: () => Promise<string | null>,
  ): Promise<void> {
    const id = await next();
    const nowMs = this.host.monotonicMs();
    const head = this.heads.get(subject);
    if (id === null || head?.id !== id) {
      this.heads.set(subject, { id, sinceMs: nowMs });
      // At the first check of a process, waiting usage may already have an alert of another process.
      if (head ? head.id !== null : id === null)
        await this.alerts.resolve(this.dataSource.manager, { rule: RULE, subject });
    } else if (nowMs - head.sinceMs > STANDING_MS)
      await this.alerts.raise(this.dataSource.manager, {
        rule: RULE,
        subject,
        message: `The same usage has been next in ${where} for more than a minute: it is not booked`,
        detail,
      });
  }
}
