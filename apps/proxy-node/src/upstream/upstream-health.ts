import type { SnapshotRoute, SnapshotUpstream } from '@tollgate/snapshot';
import { RouteRest, type FailureSeen, type Rest } from './route-rest.ts';

const LATENCY_SHARE_OF_NEWEST = 0.2;

/** A route, and the upstream it leads to. */
export interface RouteRef {
  readonly routeId: number;
  readonly upstreamId: number;
}

interface Load {
  inFlight: number;
  latencyMs: number;
}

interface RouteRecord {
  readonly upstreamId: number;
  readonly rest: RouteRest;
}

/** A rest that began here, for the log and for the other nodes. */
export interface RestBegun extends RouteRef, Rest {
  readonly failuresInRow: number;
  readonly why: string;
}

type Listeners = {
  /** Called once for each rest, not for every failure that was in progress. */
  onRested: (begun: RestBegun) => void;
  onRecovered: (route: RouteRef) => void;
};

/**
 * What this node has seen of upstreams and routes: requests in flight and latency per upstream, rests per route. One model that fails takes no
 * other model of its provider with it. Pure state; the clock is passed in.
 */
export class UpstreamHealth {
  readonly #loads = new Map<number, Load>();
  readonly #routes = new Map<number, RouteRecord>();
  /** Routes with their upstreams, as the snapshot in use has them. */
  #configured: ReadonlyMap<number, string> = new Map();
  readonly #listeners: Listeners;

  constructor({
    onRested = () => undefined,
    onRecovered = () => undefined,
  }: Partial<Listeners> = {}) {
    this.#listeners = { onRested, onRecovered };
  }

  /** ms until the route may be tried; 0 = now. */
  waitMs({ routeId }: RouteRef, now: number): number {
    return this.#routes.get(routeId)?.rest.waitMs(now) ?? 0;
  }

  /** Whether the provider's rate limit is what the route must be waited for. */
  isRateLimited({ routeId }: RouteRef, now: number): boolean {
    return this.#routes.get(routeId)?.rest.isRateLimited(now) ?? false;
  }

  inFlight(upstreamId: number): number {
    return this.#loads.get(upstreamId)?.inFlight ?? 0;
  }

  /** Lower is better: an upstream that is slower or busier gets less. */
  load(upstreamId: number): number {
    const load = this.#loads.get(upstreamId);
    return load ? (load.inFlight + 1) * (load.latencyMs + 1) : 1;
  }

  started(route: RouteRef, now: number): void {
    this.#load(route.upstreamId).inFlight += 1;
    this.#route(route).rest.started(now);
  }

  /** Call once for each `started`. */
  ended(route: RouteRef): void {
    this.#load(route.upstreamId).inFlight -= 1;
    this.#route(route).rest.ended();
  }

  /** The answer's head came after this long: what a caller waits for, however long the answer itself is. */
  answered(route: RouteRef, { latencyMs, now }: { latencyMs: number; now: number }): void {
    const load = this.#load(route.upstreamId);
    load.latencyMs += (latencyMs - load.latencyMs) * LATENCY_SHARE_OF_NEWEST;
    this.#route(route).rest.answered(now);
  }

  succeeded(route: RouteRef): void {
    if (this.#route(route).rest.succeeded()) this.#listeners.onRecovered(route);
  }

  failed(route: RouteRef, failure: FailureSeen): void {
    const { rest } = this.#route(route);
    const begun = rest.failed(failure);
    if (!begun) return;
    const { failuresInRow } = rest;
    this.#listeners.onRested({ ...route, ...begun, failuresInRow, why: failure.why });
  }

  /** Another node has seen the route fail. Routes that this node does not know are passed over. */
  heardRest(routeId: number, rest: Rest, now: number): void {
    this.#routes.get(routeId)?.rest.heard(rest, now);
  }

  heardRecovery(routeId: number, now: number): void {
    this.#routes.get(routeId)?.rest.heardRecovery(now);
  }

  /** For the node's report: upstreams whose last requests failed on some route, worst first. */
  failing(now: number): { id: number; failures_in_row: number; open_for_ms: number }[] {
    return this.dump(now)
      .filter(({ failures_in_row }) => failures_in_row > 0)
      .map(({ upstream_id: id, failures_in_row, open_for_ms }) => ({
        id,
        failures_in_row,
        open_for_ms,
      }))
      .toSorted((a, b) => b.failures_in_row - a.failures_in_row);
  }

  /** For `stats/dict`: a row for each upstream, with the worst of its routes. */
  dump(now: number) {
    return [...this.#loads].map(([upstream_id, { inFlight, latencyMs }]) => {
      const routes = [...this.#routes]
        .filter(([, route]) => route.upstreamId === upstream_id)
        .map(([route_id, { rest }]) => ({ route_id, ...rest.dump(now) }));
      return {
        upstream_id,
        in_flight: inFlight,
        latency_ms: Math.round(latencyMs),
        failures_in_row: Math.max(0, ...routes.map((route) => route.failures_in_row)),
        open_for_ms: Math.max(0, ...routes.map((route) => route.open_for_ms)),
        routes,
      };
    });
  }

  /** Forgets what the newest snapshot no longer names, and what a route did before it or its upstream was reconfigured. */
  retain({
    upstreams,
    routes,
  }: {
    upstreams: readonly Pick<SnapshotUpstream, 'id'>[];
    routes: readonly Pick<SnapshotRoute, 'id' | 'upstream_id'>[];
  }): void {
    const byId = new Map(upstreams.map((upstream) => [upstream.id, upstream]));
    const configured = new Map(
      routes.map((route) => [route.id, JSON.stringify([route, byId.get(route.upstream_id)])]),
    );
    for (const [id] of this.#routes)
      if (configured.get(id) !== this.#configured.get(id)) this.#routes.delete(id);
    for (const { id: routeId, upstream_id: upstreamId } of routes)
      this.#route({ routeId, upstreamId });
    this.#configured = configured;
    // Running requests stay counted: each of them ends.
    for (const [id, { inFlight }] of this.#loads)
      if (!byId.has(id) && inFlight === 0) this.#loads.delete(id);
  }

  #load(upstreamId: number): Load {
    let load = this.#loads.get(upstreamId);
    if (!load) this.#loads.set(upstreamId, (load = { inFlight: 0, latencyMs: 0 }));
    return load;
  }

  #route({ routeId, upstreamId }: RouteRef): RouteRecord {
    let record = this.#routes.get(routeId);
    if (!record) this.#routes.set(routeId, (record = { upstreamId, rest: new RouteRest() }));
    return record;
  }
}
