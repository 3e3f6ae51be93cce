/** Timers that can be replaced: none keeps the process alive. Each call but `soon` returns what ends it. */
export interface Timers {
  every(ms: number, act: () => void): () => void;
  after(ms: number, act: () => void): () => void;
  /** Once what runs now and what it resolved has run. */
  soon(act: () => void): void;
}

/** Of one process: what measures durations, chooses moments and waits for them. */
export interface Clock {
  now: () => number;
  random: () => number;
  timers: Timers;
}

export const SYSTEM_TIMERS: Timers = {
  every: (ms, act) => {
    const timer = setInterval(act, ms).unref();
    return () => clearInterval(timer);
  },
  after: (ms, act) => {
    const timer = setTimeout(act, ms).unref();
    return () => clearTimeout(timer);
  },
  soon: (act) => void setImmediate(act),
};

export function pause(timers: Timers, ms: number): Promise<void> {
  return new Promise((resolve) => timers.after(ms, resolve));
}
