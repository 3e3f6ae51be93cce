/** Providers refuse what is signed with a time that is further off. */
const OFF_MS_MAX = 5 * 60_000;

/** Knows by how much this machine's clock is ahead of a provider's, by the `date` of its answers. What is signed takes the provider's time once they disagree. */
export class ProviderClock {
  readonly #unixMs: () => number;
  #aheadMs = 0;

  constructor(unixMs: () => number = Date.now) {
    this.#unixMs = unixMs;
  }

  /** 0 while both agree within five minutes. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  /** The time to sign with. */
  nowMs(): number {
    return this.#unixMs() - this.#aheadMs;
  }

  /** Returns whether what was signed before had a wrong time. */
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
