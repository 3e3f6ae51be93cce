/** Holds what one process with many slow streams does. Times are in Unix ms. */
export interface BeatOrder {
  url: string;
  /** Holds the keys, which are used in turn. */
  keys: readonly string[];
  streams: number;
  /** The streams begin one after the other within this time. */
  rampMs: number;
  /** Counts the events of a stream, one a second. */
  beats: number;
  /** Events between these two are counted. */
  fromMs: number;
  untilMs: number;
}

/** Holds what came of it. */
export interface BeatReport {
  /** Counts the streams that came to their end. */
  whole: number;
  /** Counts the others by their reason. */
  dropped: Record<string, number>;
  events: number;
  /** Counts events by how late they were, in whole milliseconds; the last place holds all that were later. */
  lags: number[];
}
