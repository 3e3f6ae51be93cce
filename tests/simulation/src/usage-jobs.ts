import type { Acknowledgement, RelayedEvent } from '@tollgate/contracts';
import type { FinalProofs } from '../../../apps/control-plane/src/features/proxy-nodes/final-proofs.ts';
import { acknowledgementsOf } from '../../../apps/control-plane/src/features/usage/ingest/acknowledgements-of.ts';
import type { AutoRechargeService } from '../../../apps/control-plane/src/features/subscriptions/auto-recharge/auto-recharge.service.ts';
import type { UsageIngest } from '../../../apps/control-plane/src/features/usage/ingest/usage-ingest.service.ts';
import type { Link } from './link.ts';
import type { LiveStore, Queue } from './redis/live-store.ts';
import { takeJob } from './take-job.ts';

const JOB_RETRY_MS = 5_000;

interface UsageJobsParts {
  redis: LiveStore;
  link: Link;
  /** A delivery of a job that is given to a second worker, as when the first one was taken for dead. */
  duplicates: () => boolean;
  services: () => {
    ingest: Pick<UsageIngest, 'ingest'>;
    proofs: Pick<FinalProofs, 'judge'>;
    recharge: Pick<AutoRechargeService, 'consider' | 'considerRefused'>;
  };
}

/** The queue of usage, from a control plane: takes a job, books it, acknowledges it to the nodes. */
export class UsageJobs {
  readonly #parts: UsageJobsParts;

  constructor(parts: UsageJobsParts) {
    this.#parts = parts;
  }

  async takeOne(): Promise<void> {
    const job = await this.#onQueue('take', takeJob(this.#parts.duplicates()));
    if (!job) return;
    try {
      await this.process(job.job.events);
      await this.#parts.services().recharge.considerRefused(job.job.refusedForFunds ?? []);
      await this.#onQueue('complete', (queue) => {
        queue.jobs = queue.jobs.filter(({ id }) => id !== job.id);
      });
    } catch {
      await this.#onQueue('fail', (queue, nowMs) => {
        const failed = { takenUntilMs: 0, readyAtMs: nowMs + JOB_RETRY_MS };
        queue.jobs = queue.jobs.map((each) => (each.id === job.id ? { ...each, ...failed } : each));
      });
    }
  }

  /** Does the work of `UsageWorker.process`: judges, books, acknowledges, and looks whether tokens are to be bought. */
  async process(events: readonly RelayedEvent[]): Promise<void> {
    const { ingest, proofs, recharge } = this.#parts.services();
    const { believed, finals, forged } = await proofs.judge(events);
    const booked = await ingest.ingest(believed, { fromJournal: false }, forged);
    for (const [node, list] of acknowledgementsOf(finals)) {
      const text = JSON.stringify(list satisfies Acknowledgement[]);
      await this.#onQueue('acknowledge', (queue) => {
        const lists = queue.acknowledgements.get(node) ?? [];
        queue.acknowledgements = new Map(queue.acknowledgements).set(node, [...lists, text]);
      }).catch(() => undefined);
    }
    recharge.consider(new Set(booked.map(({ event }) => event.payload.subscription_id)));
  }

  undone(): Promise<ReadonlySet<string>> {
    return this.#onQueue('undone', (queue) => new Set(queue.jobs.map(({ id }) => String(id))));
  }

  #onQueue<R>(label: string, act: (queue: Queue, nowMs: number) => R): Promise<R> {
    const { link, redis } = this.#parts;
    return link.call(label, () => redis.onQueue(act));
  }
}
