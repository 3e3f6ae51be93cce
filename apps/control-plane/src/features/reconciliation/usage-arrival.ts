import { Inject, Injectable, Optional } from '@nestjs/common';
import { USAGE_QUEUE } from '@tollgate/contracts';
import { LiveRecords } from '@tollgate/keyspace';
import { Host } from '../../platform/host/host.ts';
import { QueueBacklog } from '../../platform/queues/queue-backlog.ts';
import { isAfter } from './drift.sql.ts';

/** Usage takes well under a second from Redis to PostgreSQL. With a longer backlog there is nothing to compare. */
const BOOKED_WITHIN_MS = 20_000;
const POLL_MS = 200;

/** Marks a moment of a shard's outbox by its last event. */
export interface OutboxMark {
  shard: string;
  outboxId: string;
}

/** Waits until usage has arrived in PostgreSQL. */
@Injectable()
export class UsageArrival {
  private stopped = false;
  private readonly pauses = new Set<() => void>();

  constructor(
    @Inject(LiveRecords) private readonly records: Pick<LiveRecords, 'oldestEvent'>,
    @Inject(QueueBacklog) private readonly backlog: Pick<QueueBacklog, 'undone' | 'areDone'>,
    @Optional() private readonly host: Host = new Host(),
  ) {}

  /** Ends all waits; the awaited usage then counts as not arrived. */
  end(): void {
    this.stopped = true;
    for (const wake of this.pauses) wake();
  }

  get isEnded(): boolean {
    return this.stopped;
  }

  /**
   * Waits, and returns the marks up to which every event is in PostgreSQL: out of the outbox and with its job done. A stuck shard does not delay the
   * others.
   */
  async upTo<M extends OutboxMark>(marks: readonly M[]): Promise<M[]> {
    if (marks.length === 0) return [];
    const lastOf = new Map<string, string>();
    for (const { shard, outboxId } of marks)
      if (isAfter(outboxId, lastOf.get(shard) ?? '0-0')) lastOf.set(shard, outboxId);
    const standing = new Set<string>();
    await Promise.all(
      [...lastOf].map(async ([shard, outboxId]) => {
        if (!(await this.until(() => this.isRelayed(shard, outboxId)))) standing.add(shard);
      }),
    );
    if (this.stopped) return [];
    const jobs = await this.backlog.undone(USAGE_QUEUE);
    const areDone = await this.until(() => this.backlog.areDone(USAGE_QUEUE, jobs));
    return areDone ? marks.filter(({ shard }) => !standing.has(shard)) : [];
  }

  /** Pauses; ends early after `end`. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.stopped) return resolve();
      const wake = (): void => {
        cancel();
        this.pauses.delete(wake);
        resolve();
      };
      const cancel = this.host.after(ms, wake);
      this.pauses.add(wake);
    });
  }

  private async isRelayed(shard: string, outboxId: string): Promise<boolean> {
    const oldest = await this.records.oldestEvent(shard);
    return oldest === null || isAfter(oldest, outboxId);
  }

  private async until(look: () => Promise<boolean>): Promise<boolean> {
    const deadline = this.host.monotonicMs() + BOOKED_WITHIN_MS;
    while (!this.stopped && this.host.monotonicMs() < deadline) {
      if (await look()) return true;
      await this.pause(POLL_MS);
    }
    return false;
  }
}
