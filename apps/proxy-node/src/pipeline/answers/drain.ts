/** Limits how long an answer whose client has left is still read, to learn what its provider bills. */
export interface DrainLimits {
  jsonMs: number;
  streamMs: number;
  streamTokens: number;
}

/** The time an answer has left once its client is gone. The request keeps its hold, its place in the concurrency limit and its checkpoints meanwhile. */
export class Drain {
  #timer: NodeJS.Timeout | null = null;
  #isOn = false;

  get isOn(): boolean {
    return this.#isOn;
  }

  begin(ms: number, onOver: () => void): void {
    this.#isOn = true;
    this.#timer = setTimeout(onOver, ms);
  }

  end(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
