import { atBeat, BEAT_MS, beatWithin } from './background-beats.ts';

export interface BackgroundWork {
  everyMs: number;
  /** Pause after a failure; often shorter, so that what is down at start costs little. */
  retryMs: number;
  work: () => Promise<void>;
  /** Called when a run of failures begins, not at each one. */
  onFailing: (error: unknown) => void | Promise<void>;
  /** Called after the first success and after each run of failures: what an earlier process left behind ends here too. */
  onWorking?: () => void | Promise<void>;
}

/** Repeats a piece of work until it is stopped, one run at a time, with a pause in between. */
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

  /** Runs not later than in this many ms; an earlier appointment stands. During a run it means another one after it. */
  wakeWithin(delayMs: number): void {
    const dueAtMs = performance.now() + delayMs;
    if (!this.isSooner(dueAtMs)) return;
    const timer = setTimeout(() => this.run(), delayMs);
    this.cancel = () => clearTimeout(timer);
  }

  /** Waits for the run in progress. The loop may be started again. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.cancel();
    this.dueAtMs = Infinity;
    await this.running;
  }

  /** Takes back what was appointed for later. */
  private isSooner(dueAtMs: number): boolean {
    if (this.isStopped || dueAtMs >= this.dueAtMs) return false;
    this.cancel();
    this.dueAtMs = dueAtMs;
    return true;
  }

  private run(): void {
    this.dueAtMs = Infinity;
    // A wake-up during a run: that run's end looks at dueAtMs again.
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

/** Telling of a failure must not become one. */
async function settled(tell: () => void | Promise<void>): Promise<void> {
  try {
    await tell();
  } catch {
    // The database that could not be worked with cannot take the alert either.
  }
}
