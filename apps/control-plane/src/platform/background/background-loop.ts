import { atBeat, BEAT_MS, beatWithin } from './background-beats.ts';

export interface BackgroundWork {
  everyMs: number;
  /** Is the pause after a failure, in ms. It is often shorter than the normal pause, so that a dependency that is down at start costs little time. */
  retryMs: number;
  work: () => Promise<void>;
  /** Is called when a series of failures begins, not at each failure. */
  onFailing: (error: unknown) => void | Promise<void>;
  /** Is called after the first success and after each series of failures, so that a condition that an earlier process reported ends here too. */
  onWorking?: () => void | Promise<void>;
}

/** Repeats a task until it is stopped. One run happens at a time, with a pause between runs. */
export class BackgroundLoop {
  private cancel = (): void => undefined;
  private dueAtMs = Infinity;
  private running: Promise<void> | undefined;
  private isStopped = true;
  private isFailing: boolean | undefined;

  constructor(private readonly options: BackgroundWork) {}

  start(): void {
    this.isStopped = false;
    this.wakeWithin(0);
  }

  /** Schedules a run within this many ms; an earlier schedule stays. A call during a run schedules another run after it. */
  wakeWithin(delayMs: number): void {
    const dueAtMs = performance.now() + delayMs;
    if (!this.isSooner(dueAtMs)) return;
    const timer = setTimeout(() => this.run(), delayMs);
    this.cancel = () => clearTimeout(timer);
  }

  /** Waits for the current run. The loop can be started again. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.cancel();
    this.dueAtMs = Infinity;
    await this.running;
  }

  /** Cancels a later timer when the new time is sooner. */
  private isSooner(dueAtMs: number): boolean {
    if (this.isStopped || dueAtMs >= this.dueAtMs) return false;
    this.cancel();
    this.dueAtMs = dueAtMs;
    return true;
  }

  private run(): void {
    this.dueAtMs = Infinity;
    // A call during a run sets dueAtMs; the end of that run reads it.
    if (this.running) return this.wakeAfterRun();
    this.running = this.attempt().then((pauseMs) => {
      this.running = undefined;
      this.rest(pauseMs);
    });
  }

  private rest(pauseMs: number): void {
    if (pauseMs < BEAT_MS) return this.wakeWithin(pauseMs);
    const beat = beatWithin(pauseMs);
    if (this.isSooner(beat)) this.cancel = atBeat(beat, () => this.run());
  }

  private wakeAfterRun(): void {
    void this.running?.then(() => this.wakeWithin(0));
  }

  private async attempt(): Promise<number> {
    try {
      await this.options.work();
    } catch (error) {
      if (this.isFailing !== true) await settled(() => this.options.onFailing(error));
      this.isFailing = true;
      return this.options.retryMs;
    }
    if (this.isFailing !== false) await settled(() => this.options.onWorking?.());
    this.isFailing = false;
    return this.options.everyMs;
  }
}

/** A failure to report a failure must not become a failure of the loop. */
async function settled(tell: () => void | Promise<void>): Promise<void> {
  try {
    await tell();
  } catch {
    // The database that caused the failure cannot store the alert either.
  }
}
