import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Acknowledgements } from '@tollgate/keyspace';
import { USAGE_QUEUE, type RelayedEvent } from '@tollgate/contracts';
import { z } from 'zod';
import { QueueWorkers } from '../../../platform/queues/queue-workers.ts';
import { FinalProofs } from '../../proxy-nodes/final-proofs.ts';
import { UseGuard } from '../../reconciliation/use-guard.ts';
import { AutoRechargeService } from '../../subscriptions/auto-recharge/auto-recharge.service.ts';
import { acknowledgementsOf } from './acknowledgements-of.ts';
import { BookedFigures } from './booked-figures.ts';
import { BookingLanes, type Delivery } from './booking-lanes.ts';
import { BookingTraces, type BookedJob } from './booking-traces.ts';
import { UsageIngest } from './usage-ingest.service.ts';

/** A process runs this many transactions at a time. The database does the work, and four keep two cores busy. */
const LANES = 4;
/** Limits the events of one transaction, whose locks are then held for some tens of milliseconds. */
const EVENTS_MAX = 1_000;
/** Nodes put 200 events into a job. */
const JOBS_OF_A_LANE = 5;
/** Another worker takes a dead worker's job after this time; a job takes milliseconds. */
const LOCK_MS = 30_000;
const STALLED_CHECK_MS = 5_000;
/** BullMQ's default of 1 fails a job permanently at the second crash of its worker (docs/design/metering.md#booking). */
const STALLED_COUNT_MAX = 1_000_000;

const text = z.string();
const UNREADABLE: RelayedEvent = {
  shard: '',
  epoch: '',
  outboxId: '',
  rid: '',
  seq: '',
  delta: '',
  payload: '',
};
/** The schema is lenient on purpose: events are checked one by one, so that a poison event cannot fail its batch. */
const relayedSchema = z
  .object({
    shard: text.catch(''),
    epoch: text.catch(''),
    outboxId: text.catch(''),
    rid: text.catch(''),
    seq: text.catch(''),
    delta: text.catch(''),
    payload: text.catch(''),
  })
  .catch(UNREADABLE);
const jobSchema = z
  .object({
    events: z
      .custom<unknown[]>((value) => Array.isArray(value))
      .transform((events) => events.map((event) => relayedOf(event))),
    refusedForFunds: z
      .array(
        z.object({
          accountId: z.number().int(),
          modelId: z.number().int(),
          neededTokens: z.number().int().min(0).catch(0),
        }),
      )
      .catch([]),
  })
  .catch({ events: [UNREADABLE], refusedForFunds: [] });

/** Returns the event itself when it is complete: a copy of each event would cost more than all other checks of a job. */
function relayedOf(value: unknown): RelayedEvent {
  const event = value as RelayedEvent | null;
  return typeof event?.shard === 'string' &&
    typeof event.epoch === 'string' &&
    typeof event.outboxId === 'string' &&
    typeof event.rid === 'string' &&
    typeof event.seq === 'string' &&
    typeof event.delta === 'string' &&
    typeof event.payload === 'string'
    ? event
    : relayedSchema.parse(value);
}

/** Consumes the usage queue: it books batches, sends acknowledgements to the nodes, and evaluates auto-recharges. */
@Injectable()
export class UsageWorker implements OnModuleInit {
  private readonly logger = new Logger('usage-worker');
  private readonly lanes = new BookingLanes({
    lanes: LANES,
    eventsMax: EVENTS_MAX,
    soon: (act) => this.queues.afterReply(act),
    book: (deliveries) => this.book(deliveries),
  });

  constructor(
    private readonly queues: QueueWorkers,
    private readonly proofs: FinalProofs,
    private readonly guard: UseGuard,
    private readonly usage: UsageIngest,
    private readonly acknowledgements: Acknowledgements,
    private readonly autoRecharge: AutoRechargeService,
    private readonly figures: BookedFigures,
    private readonly traces: BookingTraces,
  ) {}

  onModuleInit(): void {
    this.queues.register(
      USAGE_QUEUE,
      async (job) =>
        this.processJob(jobSchema.parse(job.data), { id: job.id, queuedAtMs: job.timestamp }),
      {
        concurrency: LANES * JOBS_OF_A_LANE,
        lockDuration: LOCK_MS,
        stalledInterval: STALLED_CHECK_MS,
        maxStalledCount: STALLED_COUNT_MAX,
      },
    );
  }

  private async processJob(
    { events, refusedForFunds }: z.output<typeof jobSchema>,
    job: BookedJob,
  ): Promise<void> {
    await this.lanes.add({ events, job });
    await this.autoRecharge.considerRefused(refusedForFunds);
  }

  /** Throws only while PostgreSQL does not answer. */
  process(events: readonly RelayedEvent[]): Promise<void> {
    return this.book([{ events, job: null }]);
  }

  /** Throws only while PostgreSQL does not answer; the queue then repeats the jobs. */
  private async book(deliveries: readonly Delivery[]): Promise<void> {
    const startedMs = this.traces.now();
    const events = deliveries.flatMap((delivery) => delivery.events);
    const { believed, finals, forged } = await this.proofs.judge(events);
    const bookingMs = this.traces.now();
    const booked = await this.usage.ingest(believed, { fromJournal: false }, forged);
    const times = { startedMs, bookingMs, bookedMs: this.traces.now() };
    this.traces.note(booked, times, deliveries);
    this.figures.note(booked);
    // A forged event is never acknowledged: its node would remove the final whose number it took.
    await this.acknowledge(finals);
    this.guard.used(
      booked.flatMap(({ event: { payload } }) => (payload.kind === 'usage' ? [payload] : [])),
    );
    this.autoRecharge.consider(new Set(booked.map((read) => read.event.payload.subscription_id)));
  }

  /**
   * Acknowledges every event that was handled: also duplicates, whose first acknowledgement may be lost, and dead letters, which no repetition would
   * change.
   */
  private async acknowledge(events: readonly RelayedEvent[]): Promise<void> {
    try {
      await Promise.all(
        [...acknowledgementsOf(events)].map(([node, list]) =>
          this.acknowledgements.push(node, list),
        ),
      );
    } catch (error) {
      // The node emits again what was not acknowledged, and the acknowledgement follows then.
      this.logger.warn(error, 'acknowledgements could not be pushed');
    }
  }
}
