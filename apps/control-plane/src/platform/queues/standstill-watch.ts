const LOOK_MS = 5_000;
/** Six checks take half a minute; an idle worker asks at least every ten seconds. Each check whose answer is lost delays detection by one check. */
const LOOKS_MAX = 6;

interface StandstillWatchOptions {
  /** Is the number of jobs that the worker may run at the same time. */
  concurrency: number;
  /** Returns the number of jobs that a worker could take now. */
  waiting: () => Promise<number>;
  /** Is called once; the watch has then ended. */
  onStandstill: (waiting: number) => void;
}

/**
 * Detects a worker that takes no jobs although jobs wait and it has free places. It counts checks instead of time, so that a paused process does not
 * look like a standstill.
 */
export class StandstillWatch {
  private readonly timer: NodeJS.Timeout;
  private looks = 0;
  private running = 0;
  private asked = 0;
  private isEnded = false;

  constructor(private readonly options: StandstillWatchOptions) {
    this.timer = setInterval(() => void this.look(), LOOK_MS).unref();
  }

  /** Wraps the worker's processor and counts its running jobs. */
  watched<Args extends unknown[]>(
    process: (...args: Args) => Promise<void>,
  ): (...args: Args) => Promise<void> {
    return async (...args) => {
      this.looks = 0;
      this.running += 1;
      try {
        await process(...args);
      } finally {
        this.running -= 1;
      }
    };
  }

  end(): void {
    this.isEnded = true;
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    const nth = (this.asked += 1);
    // While Redis is away no job can be taken.
    const waiting = await this.options.waiting().catch(() => 0);
    // An answer may be lost, as the worker's was. The next check does not wait for it, and a late answer is out of date.
    if (nth !== this.asked) return;
    const couldTake = waiting > 0 && this.running < this.options.concurrency;
    this.looks = couldTake ? this.looks + 1 : 0;
    if (this.looks < LOOKS_MAX || this.isEnded) return;
    this.end();
    this.options.onStandstill(waiting);
  }
}
