/** Provides replaceable timers, none of which keeps the process alive. Each call except `soon` returns a function that cancels it. */
export interface Timers {
  every(ms: number, act: () => void): () => void;
  after(ms: number, act: () => void): () => void;
  /** Runs `act` after the current code and everything that it resolved. */
  soon(act: () => void): void;
}

/** Measures durations and waits for times, for one process. */
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

/** Repeats an act only while there is something to do, so that an idle process is not woken. */
export class Beat {
  readonly #timers: Timers;
  readonly #ms: number;
  readonly #act: () => boolean;
  #stop: (() => void) | null = null;
  #isOver = false;

  /** `act` returns whether there is more to do. */
  constructor(timers: Timers, ms: number, act: () => boolean) {
    this.#timers = timers;
    this.#ms = ms;
    this.#act = act;
  }

  /** Starts the beat; the act first runs after a whole period. */
  begin(): void {
    if (this.#isOver) return;
    this.#stop ??= this.#timers.every(this.#ms, () => {
      if (!this.#act()) this.#pause();
    });
  }

  /** Stops all timers: nothing begins after this call. */
  end(): void {
    this.#isOver = true;
    this.#pause();
  }

  #pause(): void {
    this.#stop?.();
    this.#stop = null;
  }
}
