/** Holds what one process with many slow streams does. Times in Unix ms. */
export interface BeatOrder {
  url: string;
  /** Used in turn. */
  keys: readonly string[];
  streams: number;
  /** The streams begin one after the other within this time. */
  rampMs: number;
  /** Events a stream has, one a second. */
  beats: number;
  /** Events between these two are counted. */
  fromMs: number;
  untilMs: number;
}

/** Holds what came of it. */
export interface BeatReport {
  /** Streams that came to their end. */
  whole: number;
  /** The others, by why. */
  dropped: Record<string, number>;
  events: number;
  /** Events by how late they were, in whole milliseconds; the last place holds all that were later. */
  lags: number[];
}
