/** Holds what one load process does. */
export interface LoadOrder {
  url: string;
  /** Holds the keys, which are used in turn. */
  keys: readonly string[];
  /** Adds to the headers that every request has. */
  headers: Readonly<Record<string, string>>;
  model: string;
  isStream: boolean;
  promptBytes: number;
  connections: number;
  seconds: number;
  requestsMax: number;
  /** Is null where each connection sends its next request when the last is answered. */
  perSecond: number | null;
}

/** Holds the results. Times are those of answered requests, from sending; `first` is to the first byte of the body. */
export interface LoadReport {
  requests: number;
  /** Counts refusals by status and code. */
  refused: Record<string, number>;
  p50Ms: number;
  p99Ms: number;
  firstP50Ms: number;
  firstP99Ms: number;
}
