/** Timers that can be replaced: none keeps the process alive. Each call but `soon` returns what ends it. */
export interface Timers {
  every(ms: number, act: () => void): () => void;
  after(ms: number, act: () => void): () => void;
  /** Once what runs now and what it resolved has run. */
  soon(act: () => void): void;
}

/** Measures durations, chooses moments and waits for them, for one process. */
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

/** An act that is repeated only while there is something to do: an idle process is not woken for it. */
export class Beat {
  readonly #timers: Timers;
  readonly #ms: number;
  readonly #act: () => boolean;
  #stop: (() => void) | null = null;
  #isOver = false;

  /** `act` says whether there is more to do. */
  constructor(timers: Timers, ms: number, act: () => boolean) {
    this.#timers = timers;
    this.#ms = ms;
    this.#act = act;
  }

  /** There is something to do. The first time comes after a whole period. */
  begin(): void {
    if (this.#isOver) return;
    this.#stop ??= this.#timers.every(this.#ms, () => {
      if (!this.#act()) this.#pause();
    });
  }

  /** Nothing begins after it. */
  end(): void {
    this.#isOver = true;
    this.#pause();
  }

  #pause(): void {
    this.#stop?.();
    this.#stop = null;
  }
}
