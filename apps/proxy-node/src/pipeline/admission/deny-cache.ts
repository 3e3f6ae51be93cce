import type { Refusal } from '../../refusals.ts';

/** No longer: the message that a limit was raised may be lost. */
const REMEMBER_MS_MAX = 1_000;

/**
 * Remembers rate denials for a moment, to keep a client that hammers on its limit from Redis. Only rate denials: a refusal for funds
 * or status must be asked again each time. Never longer than the exact wait.
 */
export class DenyCache {
  readonly #denials = new Map<string, { refusal: Refusal; until: number }>();
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  get size(): number {
    return this.#denials.size;
  }

  get(keyHash: string, now: number): Refusal | undefined {
    const denial = this.#denials.get(keyHash);
    if (!denial) return undefined;
    if (denial.until > now) return denial.refusal;
    this.#denials.delete(keyHash);
    return undefined;
  }

  /** The key's record was changed: its limits may be others now. */
  forget(keyHash: string): void {
    this.#denials.delete(keyHash);
  }

  set(
    keyHash: string,
    { refusal, retryAfterMs, now }: { refusal: Refusal; retryAfterMs: number; now: number },
  ): void {
    if (this.#denials.size >= this.#entriesMax) {
      const [oldest] = this.#denials.keys();
      if (oldest !== undefined) this.#denials.delete(oldest);
    }
    this.#denials.set(keyHash, { refusal, until: now + Math.min(retryAfterMs, REMEMBER_MS_MAX) });
  }
}
