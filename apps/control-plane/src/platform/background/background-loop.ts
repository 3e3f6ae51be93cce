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

/** Pauses of a second and more end on one, so that the work of an idle process is done in few turns, whose code is warm, and looks of one moment share a statement. */
const BEAT_MS = 1_000;
/** A timer may fire that much before its moment. */
const EARLY_MS = 50;

/** The pause from now until the last beat before its end: a run that takes long does not make it longer. */
function onBeat(pauseMs: number): number {
  if (pauseMs < BEAT_MS) return pauseMs;
  const now = performance.now();
  return Math.floor((now + pauseMs + EARLY_MS) / BEAT_MS) * BEAT_MS - now;
}

/** Repeats a piece of work until it is stopped, one run at a time, with a pause in between. */
export class BackgroundLoop {
  private timer: NodeJS.Timeout | undefined;
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
    if (this.isStopped || dueAtMs >= this.dueAtMs) return;
    this.dueAtMs = dueAtMs;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.run(), delayMs);
  }

  /** Waits for the run in progress. The loop may be started again. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    this.dueAtMs = Infinity;
    await this.running;
  }

  private run(): void {
    this.dueAtMs = Infinity;
    // A wake-up during a run: that run's end looks at dueAtMs again.
    if (this.running) return this.wakeAfterRun();
    this.running = this.attempt().then((pauseMs) => {
      this.running = undefined;
      this.wakeWithin(onBeat(pauseMs));
    });
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
