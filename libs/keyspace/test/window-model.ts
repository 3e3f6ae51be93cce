import { RATE_WINDOWS as WINDOWS, WINDOW_NAMES, type RateWindow } from '@tollgate/contracts';
import type { RateName, WindowState } from '../src/index.ts';

const BUCKETS = 60;
export const BUCKET_MS = Object.fromEntries(
  WINDOWS.map(({ name, seconds }) => [name, (seconds * 1_000) / BUCKETS]),
) as Record<RateWindow, number>;
export const RATE_WINDOWS = WINDOW_NAMES;
export type Limits = Record<RateWindow, number>;

const OWN = { owner: 'key', models: '' } as const;

/** Restates the windows of one key as a log of every request that was counted. */
export class WindowModel {
  /** Holds the bucket number of each counted request. */
  readonly #counted = Object.fromEntries(
    WINDOW_NAMES.map((name) => [name, []]),
  ) as unknown as Record<RateWindow, number[]>;

  /** Returns undefined when the request fits every limit. Changes nothing. */
  denial(
    limits: Limits,
    now: number,
  ): { rate: RateName; retryAfterMs: number; windows: WindowState[] } | undefined {
    const full = tracked(limits).flatMap((window) => {
      const live = this.#live(window, now);
      const excess = live.length + 1 - limits[window];
      return excess > 0
        ? [
            {
              rate: { window, ...OWN },
              retryAfterMs: expiryOf(live[excess - 1] as number, window) - now,
            },
          ]
        : [];
    });
    const [longest] = full.toSorted((a, b) => b.retryAfterMs - a.retryAfterMs);
    return longest && { ...longest, windows: this.states(limits, now) };
  }

  /** A window whose limit is gone is forgotten: a later limit begins with an empty one. */
  keep(limits: Limits): void {
    for (const window of RATE_WINDOWS) if (limits[window] === 0) this.#counted[window] = [];
  }

  count(limits: Limits, now: number): void {
    if (tracked(limits).length === 0) return;
    for (const window of RATE_WINDOWS) {
      this.#counted[window] =
        limits[window] > 0 ? [...this.#believed(window, now), this.#current(window, now)] : [];
    }
  }

  states(limits: Limits, now: number): WindowState[] {
    return tracked(limits).map((window) => {
      const live = this.#live(window, now);
      const newest = live.at(-1);
      const resetMs = newest === undefined ? 0 : expiryOf(newest, window) - now;
      return {
        window,
        ...OWN,
        limit: limits[window],
        remaining: Math.max(0, limits[window] - live.length),
        resetMs,
      };
    });
  }

  /** Returns buckets, oldest first: the current bucket does not go back with the clock. */
  #live(window: RateWindow, now: number): number[] {
    const current = this.#current(window, now);
    return this.#believed(window, now).filter((bucket) => bucket > current - BUCKETS);
  }

  /** Returns all that was counted, or nothing when its clock was a window or more ahead of this one. */
  #believed(window: RateWindow, now: number): number[] {
    const isFromAhead =
      (this.#counted[window].at(-1) ?? 0) >= Math.floor(now / BUCKET_MS[window]) + BUCKETS;
    return isFromAhead ? [] : this.#counted[window];
  }

  #current(window: RateWindow, now: number): number {
    return Math.max(Math.floor(now / BUCKET_MS[window]), this.#believed(window, now).at(-1) ?? 0);
  }
}

function tracked(limits: Limits): RateWindow[] {
  return RATE_WINDOWS.filter((window) => limits[window] > 0);
}

function expiryOf(bucket: number, window: RateWindow): number {
  return (bucket + BUCKETS) * BUCKET_MS[window];
}
