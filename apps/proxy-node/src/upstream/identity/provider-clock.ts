/** Providers refuse signatures whose time differs by more than this. */
const OFF_MS_MAX = 5 * 60_000;

/**
 * Computes by how much this machine's clock is ahead of a provider's, from the `date` of its answers. When they disagree, signatures use the
 * provider's time.
 */
export class ProviderClock {
  readonly #unixMs: () => number;
  #aheadMs = 0;

  constructor(unixMs: () => number = Date.now) {
    this.#unixMs = unixMs;
  }

  /** Is 0 while both agree within five minutes. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  /** Returns the time for signatures. */
  nowMs(): number {
    return this.#unixMs() - this.#aheadMs;
  }

  /** Returns whether earlier signatures had a wrong time. */
  learn(date: string | string[] | undefined): boolean {
    const statedMs = typeof date === 'string' ? Date.parse(date) : Number.NaN;
    if (Number.isNaN(statedMs)) return false;
    const wasOff = Math.abs(this.nowMs() - statedMs) > OFF_MS_MAX;
    const aheadMs = this.#unixMs() - statedMs;
    if (wasOff || Math.abs(aheadMs) <= OFF_MS_MAX)
      this.#aheadMs = Math.abs(aheadMs) > OFF_MS_MAX ? aheadMs : 0;
    return wasOff;
  }
}
