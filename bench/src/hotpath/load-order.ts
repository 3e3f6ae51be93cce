/** Holds what one load process does. */
export interface LoadOrder {
  url: string;
  /** Used in turn. */
  keys: readonly string[];
  /** Beside those that every request has. */
  headers: Readonly<Record<string, string>>;
  model: string;
  isStream: boolean;
  promptBytes: number;
  connections: number;
  seconds: number;
  requestsMax: number;
  /** Null: each connection sends its next request when the last is answered. */
  perSecond: number | null;
}

/** Holds what came of it. Times of answered requests, from sending; `first`: to the first byte of the body. */
export interface LoadReport {
  requests: number;
  /** By status and code. */
  refused: Record<string, number>;
  p50Ms: number;
  p99Ms: number;
  firstP50Ms: number;
  firstP99Ms: number;
}
