import type { PacedAttempt } from './route-paces.ts';

/** Bounds the time that one call of an upstream may take. */
export interface CallDeadlines {
  /** Start to the first byte of the body, JSON only, as a stream's says nothing yet; null where waiting on is all there is. */
  firstByteMs: number | null;
  /** Start to first content, streams only: a JSON answer comes whole or not at all. */
  firstTokenMs: number | null;
  /** Pieces without content, such as keep-alives, restart `firstTokenMs`. */
  isKeptByKeepAlives: boolean;
  /** Between two pieces of the body. Before the first content `firstTokenMs` applies where it is longer. */
  idleMs: number;
  totalMs: number;
  /** Learns from an attempt that another route could have answered, and suggests when to give it up for that one's sake. */
  pace?: PacedAttempt | null;
}
