import type { PacedAttempt } from './route-paces.ts';

/** Bounds the time of one upstream call. */
export interface CallDeadlines {
  /** Limits the time from start to the first byte of the body, for JSON only, because a stream's first byte says nothing yet; null where no limit applies. */
  firstByteMs: number | null;
  /** Limits the time from start to the first content, for streams only: a JSON answer arrives completely or not at all. */
  firstTokenMs: number | null;
  /** Is true when pieces without content, such as keep-alives, restart `firstTokenMs`. */
  isKeptByKeepAlives: boolean;
  /** Is the time between two pieces of the body. Before the first content `firstTokenMs` applies where it is longer. */
  idleMs: number;
  totalMs: number;
  /** Learns from an attempt that another route could have answered, and suggests when to abandon it for that route. */
  pace?: PacedAttempt | null;
}
