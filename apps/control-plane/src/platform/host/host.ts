import { randomUUID } from 'node:crypto';

/** Provides the clocks, timers and random names of the process. Code that the simulation runs takes them from here, and the simulation passes its own. */
export class Host {
  unixMs(): number {
    return Date.now();
  }

  /** Returns the time of a monotonic clock in ms. */
  monotonicMs(): number {
    return performance.now();
  }

  /** Calls `act` once after `ms` and returns a function that cancels it. The timer does not keep the process alive. */
  after(ms: number, act: () => void): () => void {
    const timer = setTimeout(act, ms).unref();
    return () => clearTimeout(timer);
  }

  uuid(): string {
    return randomUUID();
  }
}
