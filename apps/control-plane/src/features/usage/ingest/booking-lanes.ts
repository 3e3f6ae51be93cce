import type { RelayedEvent } from '@tollgate/contracts';
import { isServerTrouble } from '../../../platform/database/database-errors.ts';
import type { BookedJob } from './booking-traces.ts';

/** Holds events that arrived together and the job that brought them; null for those without a job. */
export interface Delivery {
  readonly events: readonly RelayedEvent[];
  readonly job: BookedJob | null;
}

interface Waiting {
  readonly delivery: Delivery;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface Options {
  /** Is the number of simultaneous transactions. */
  readonly lanes: number;
  /** Limits the events of one transaction; a single larger delivery is booked whole. */
  readonly eventsMax: number;
  /** Runs `act` after the jobs of one reply of the queue have arrived, because they belong together. */
  readonly soon: (act: () => void) => void;
  readonly book: (deliveries: readonly Delivery[]) => Promise<void>;
}

/**
 * Books jobs that wait at the same time in one transaction: statements, locks and commit cost the same for one job and for five. A single waiting job
 * is booked at once. When a group fails, each of its jobs is tried separately, so that none fails because of another's events. When the server fails,
 * they are not tried separately, which would multiply its work: the queue repeats the jobs later.
 */
export class BookingLanes {
  private readonly waiting: Waiting[] = [];
  private busy = 0;

  constructor(private readonly options: Options) {}

  /** Resolves when the delivery is booked. */
  add(delivery: Delivery): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ delivery, resolve, reject });
      this.schedule();
    });
  }

  private schedule(): void {
    this.options.soon(() => {
      while (this.busy < this.options.lanes && this.waiting.length > 0) void this.run(this.take());
    });
  }

  private take(): Waiting[] {
    let events = 0;
    const beyond = this.waiting.findIndex(
      ({ delivery }) => (events += delivery.events.length) > this.options.eventsMax,
    );
    return this.waiting.splice(0, beyond === -1 ? this.waiting.length : Math.max(1, beyond));
  }

  private async run(group: readonly Waiting[]): Promise<void> {
    this.busy += 1;
    try {
      await this.options.book(group.map(({ delivery }) => delivery));
      for (const { resolve } of group) resolve();
    } catch (error) {
      if (group.length === 1) group[0]?.reject(error);
      else await this.runApart(group, error);
    } finally {
      this.busy -= 1;
      this.schedule();
    }
  }

  /** Stops when the server fails; the remaining jobs get its failure. */
  private async runApart(group: readonly Waiting[], failure: unknown): Promise<void> {
    let last = failure;
    for (const one of group) {
      if (isServerTrouble(last)) one.reject(last);
      else last = await this.runAlone(one);
    }
  }

  /** Returns the failure; null when the job is booked. */
  private async runAlone({ delivery, resolve, reject }: Waiting): Promise<unknown> {
    try {
      await this.options.book([delivery]);
      resolve();
      return null;
    } catch (error) {
      reject(error);
      return error;
    }
  }
}
