/**
 * What this node has seen of each upstream: requests in flight, latency, and whether to leave it alone for a while.
 * Pure state; the clock is passed in.
 */
const LATENCY_SHARE_OF_NEWEST = 0.2;
/** Failures in a row that open the breaker: fewer would let one bad answer take a provider away. */
const BREAKER_FAILURES = 5;
const BREAKER_OPEN_MS = 5_000;
const BREAKER_OPEN_MS_MAX = 60_000;
/** A provider that asks for an hour is asked again after a minute: its clock may be wrong, and one probe is cheap. */
const COOLDOWN_MS_MAX = 60_000;
const COOLDOWN_MS_DEFAULT = 1_000;

interface UpstreamRecord {
  inFlight: number;
  latencyMs: number;
  failuresInRow: number;
  openUntil: number;
  openMs: number;
  isProbing: boolean;
}

export class UpstreamHealth {
  readonly #upstreams = new Map<number, UpstreamRecord>();
  /** Rate limits are kept per route: providers count them per model. */
  readonly #cooldowns = new Map<number, number>();
  /** Upstreams as the snapshot in use has them. */
  #configured: ReadonlyMap<number, string> = new Map();
  readonly #onOpened: (opened: {
    upstreamId: number;
    failuresInRow: number;
    openMs: number;
  }) => void;

  /** `onOpened`: an upstream is left alone from now on; told once each time, not for every failure that was under way. */
  constructor({
    onOpened = () => undefined,
  }: {
    onOpened?: (opened: { upstreamId: number; failuresInRow: number; openMs: number }) => void;
  } = {}) {
    this.#onOpened = onOpened;
  }

  /** ms until the route may be tried; 0 = now. */
  waitMs({ upstreamId, routeId }: { upstreamId: number; routeId: number }, now: number): number {
    const record = this.#upstreams.get(upstreamId);
    const breaker =
      record && record.openUntil > 0 && (record.openUntil > now || record.isProbing)
        ? Math.max(1, record.openUntil - now)
        : 0;
    return Math.max(breaker, (this.#cooldowns.get(routeId) ?? 0) - now, 0);
  }

  inFlight(upstreamId: number): number {
    return this.#upstreams.get(upstreamId)?.inFlight ?? 0;
  }

  /** Lower is better: an upstream that is slower or busier gets less. */
  load(upstreamId: number): number {
    const record = this.#upstreams.get(upstreamId);
    return record ? (record.inFlight + 1) * (record.latencyMs + 1) : 1;
  }

  started(upstreamId: number): void {
    const record = this.#record(upstreamId);
    record.inFlight += 1;
    // The first request after the break is the probe; until it ends nobody else goes.
    if (record.openUntil > 0) record.isProbing = true;
  }

  /** Call once for each `started`. */
  ended(upstreamId: number): void {
    const record = this.#record(upstreamId);
    record.inFlight -= 1;
    record.isProbing = false;
  }

  succeeded(upstreamId: number): void {
    const record = this.#record(upstreamId);
    record.failuresInRow = 0;
    record.openUntil = 0;
    record.openMs = BREAKER_OPEN_MS;
  }

  /** The answer's head came after this long: what a caller waits for, however long the answer itself is. */
  answered(upstreamId: number, latencyMs: number): void {
    const record = this.#record(upstreamId);
    record.latencyMs += (latencyMs - record.latencyMs) * LATENCY_SHARE_OF_NEWEST;
  }

  failed(upstreamId: number, now: number): void {
    const record = this.#record(upstreamId);
    record.failuresInRow += 1;
    if (record.failuresInRow < BREAKER_FAILURES) return;
    if (record.openUntil <= now)
      this.#onOpened({ upstreamId, failuresInRow: record.failuresInRow, openMs: record.openMs });
    record.openUntil = now + record.openMs;
    record.openMs = Math.min(record.openMs * 2, BREAKER_OPEN_MS_MAX);
  }

  coolDown(routeId: number, retryAfterMs: number | null, now: number): void {
    this.#cooldowns.set(
      routeId,
      now + Math.min(retryAfterMs ?? COOLDOWN_MS_DEFAULT, COOLDOWN_MS_MAX),
    );
  }

  /** For the node's report: those that failed their last requests, worst first. */
  failing(now: number): { id: number; failures_in_row: number; open_for_ms: number }[] {
    return [...this.#upstreams]
      .filter(([, { failuresInRow }]) => failuresInRow > 0)
      .map(([id, { failuresInRow, openUntil }]) => ({
        id,
        failures_in_row: failuresInRow,
        open_for_ms: Math.max(0, openUntil - now),
      }))
      .toSorted((a, b) => b.failures_in_row - a.failures_in_row);
  }

  /** For `stats/dict`. */
  dump(now: number): Record<string, unknown>[] {
    return [...this.#upstreams].map(
      ([upstream_id, { inFlight, latencyMs, failuresInRow, openUntil }]) => ({
        upstream_id,
        in_flight: inFlight,
        latency_ms: Math.round(latencyMs),
        failures_in_row: failuresInRow,
        open_for_ms: Math.max(0, openUntil - now),
      }),
    );
  }

  /** Forgets what the newest snapshot no longer names, and what an upstream did before it was configured anew. */
  retain({
    upstreams,
    routeIds,
  }: {
    upstreams: readonly { readonly id: number }[];
    routeIds: ReadonlySet<number>;
  }): void {
    const configured = new Map(
      upstreams.map((upstream) => [upstream.id, JSON.stringify(upstream)]),
    );
    for (const [id, record] of this.#upstreams) {
      // Running requests stay counted: each of them ends.
      if (configured.get(id) !== this.#configured.get(id))
        Object.assign(record, {
          failuresInRow: 0,
          openUntil: 0,
          openMs: BREAKER_OPEN_MS,
          isProbing: false,
        });
      if (!configured.has(id) && record.inFlight === 0) this.#upstreams.delete(id);
    }
    this.#configured = configured;
    for (const id of this.#cooldowns.keys()) if (!routeIds.has(id)) this.#cooldowns.delete(id);
  }

  #record(upstreamId: number): UpstreamRecord {
    let record = this.#upstreams.get(upstreamId);
    if (!record)
      this.#upstreams.set(
        upstreamId,
        (record = {
          inFlight: 0,
          latencyMs: 0,
          failuresInRow: 0,
          openUntil: 0,
          openMs: BREAKER_OPEN_MS,
          isProbing: false,
        }),
      );
    return record;
  }
}
