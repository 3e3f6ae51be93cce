const LOOK_MS = 5_000;
/** Half a minute, as a worker that has nothing to do asks at least every ten seconds. A look whose answer is lost delays that by one. */
const LOOKS_MAX = 6;

interface StandstillWatchOptions {
  /** Jobs that the worker may have at the same time. */
  concurrency: number;
  /** Returns the number of jobs that could be taken now. */
  waiting: () => Promise<number>;
  /** Called once; the watch has then ended. */
  onStandstill: (waiting: number) => void;
}

/**
 * Notices a worker that takes no jobs while some wait and it has places for them. Counted in looks and not in time: a process that was paused must not take
 * that for a standstill.
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

  /** The worker's processor. */
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
    // While Redis is away nothing can be taken.
    const waiting = await this.options.waiting().catch(() => 0);
    // An answer may be lost, as the worker's was: the next look does not wait for it, and what comes that late is old.
    if (nth !== this.asked) return;
    const couldTake = waiting > 0 && this.running < this.options.concurrency;
    this.looks = couldTake ? this.looks + 1 : 0;
    if (this.looks < LOOKS_MAX || this.isEnded) return;
    this.end();
    this.options.onStandstill(waiting);
  }
}
