import { randomUUID } from 'node:crypto';

/** Clocks, timers and random names of the process. Code that is simulated takes them from here, and a simulation passes its own. */
export class Host {
  unixMs(): number {
    return Date.now();
  }

  /** The time of a clock that nothing sets. */
  monotonicMs(): number {
    return performance.now();
  }

  /** Returns what ends it. Does not keep the process alive. */
  after(ms: number, act: () => void): () => void {
    const timer = setTimeout(act, ms).unref();
    return () => clearTimeout(timer);
  }

  uuid(): string {
    return randomUUID();
  }
}
