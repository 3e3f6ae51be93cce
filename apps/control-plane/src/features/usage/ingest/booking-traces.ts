import { Inject, Injectable } from '@nestjs/common';
import { readTraceparent, USAGE_QUEUE, type RelayedEvent } from '@tollgate/contracts';
import { preciseNow, recordBelow, type Tracing } from '@tollgate/tracing';
import { TRACING } from '../../../platform/tracing/tracing.module.ts';
import type { ReadEvent } from './read-event.ts';

/** Describes a job of the queue; events that came in another way have none. */
export interface BookedJob {
  readonly id: string | undefined;
  /** Is the time in Unix ms at which it was put into the queue. */
  readonly queuedAtMs: number;
}

/** Holds the times of the steps of one batch in Unix ms. */
export interface BookingTimes {
  readonly startedMs: number;
  readonly bookingMs: number;
  readonly bookedMs: number;
}

/** Adds the job and the transaction to the trace of each request that they booked, where its node traced it. */
@Injectable()
export class BookingTraces {
  constructor(@Inject(TRACING) private readonly tracing: Tracing | null) {}

  now(): number {
    return preciseNow();
  }

  note(
    booked: readonly ReadEvent[],
    times: BookingTimes,
    deliveries: readonly { events: readonly RelayedEvent[]; job: BookedJob | null }[],
  ): void {
    const { tracing } = this;
    if (!tracing) return;
    const jobs = new Map(
      deliveries.flatMap(({ events, job }) => events.map(({ rid }) => [rid, job])),
    );
    for (const read of booked)
      this.noteOne(tracing, read, { ...times, job: jobs.get(read.relayed.rid) ?? null });
  }

  private noteOne(
    tracing: Tracing,
    { event: { rid, payload } }: ReadEvent,
    { startedMs, bookingMs, bookedMs, job }: BookingTimes & { job: BookedJob | null },
  ): void {
    const parent = payload.kind === 'usage' ? readTraceparent(payload.traceparent) : null;
    if (!parent) return;
    const processing = recordBelow(tracing, parent, {
      name: `process ${USAGE_QUEUE}`,
      kind: 'consumer',
      startMs: startedMs,
      endMs: this.now(),
      attributes: {
        'messaging.system': 'bullmq',
        'messaging.operation.name': 'process',
        'messaging.destination.name': USAGE_QUEUE,
        'messaging.message.id': job?.id,
        'tollgate.job.waited_ms': job ? Math.round(startedMs - job.queuedAtMs) : undefined,
        'tollgate.request.id': rid,
      },
      error: null,
    });
    recordBelow(tracing, processing, {
      name: 'book',
      kind: 'client',
      startMs: bookingMs,
      endMs: bookedMs,
      attributes: { 'db.system.name': 'postgresql', 'tollgate.request.id': rid },
      error: null,
    });
  }
}
