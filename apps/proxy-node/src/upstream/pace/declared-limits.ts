const MINUTE_MS = 60_000;

/** Holds what an operator declares that a credential may send in a minute of each model. */
export interface DeclaredLimits {
  readonly rpm?: number | undefined;
  readonly tpm?: number | undefined;
}

/** Is a bucket that fills evenly within a minute, as those of most providers do. */
class Bucket {
  readonly size: number;
  #left: number;
  #at = 0;

  constructor(size: number) {
    this.size = size;
    this.#left = size;
  }

  left(now: number): number {
    this.#left = Math.min(this.size, this.#left + (this.size * (now - this.#at)) / MINUTE_MS);
    this.#at = now;
    return this.#left;
  }

  take(count: number, now: number): void {
    this.#left = this.left(now) - count;
  }
}

/**
 * Counts what this process sends with one credential to one route against its declared limits. Other processes count for themselves: all draw by the same
 * limits, so that the shares of the credentials are right. Pure state; the clock is passed in.
 */
export class DeclaredRoom {
  readonly #requests: Bucket | null;
  readonly #tokens: Bucket | null;

  constructor({ rpm, tpm }: DeclaredLimits) {
    this.#requests = rpm === undefined ? null : new Bucket(rpm);
    this.#tokens = tpm === undefined ? null : new Bucket(tpm);
  }

  isOf({ rpm, tpm }: DeclaredLimits): boolean {
    return this.#requests?.size === rpm && this.#tokens?.size === tpm;
  }

  started(now: number): void {
    this.#requests?.take(1, now);
  }

  used(tokens: number, now: number): void {
    this.#tokens?.take(tokens, now);
  }

  /** Returns the requests that are left; 0 where no tokens are, null where no requests are declared. */
  left(now: number): number | null {
    if (this.#tokens && this.#tokens.left(now) <= 0) return 0;
    return this.#requests && Math.max(0, Math.floor(this.#requests.left(now)));
  }
}
