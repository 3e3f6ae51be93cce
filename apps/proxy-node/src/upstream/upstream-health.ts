import type { ClientProtocol, StatedLimits } from '@tollgate/protocols';
import type { SnapshotRoute, SnapshotUpstream } from '@tollgate/snapshot';
import type { ProviderTokens } from './identity/provider-tokens.ts';
import type { Rest } from './route-rest.ts';
import { StatedRooms } from './pace/stated-rooms.ts';
import { RouteState, type FailureSeen, type RestOf, type RouteEvents } from './route-state.ts';

const LATENCY_SHARE_OF_NEWEST = 0.2;
/** `stats/dict` names at most this many accounts for which a route rests. */
const SHOWN_ACCOUNTS_MAX = 16;

/** Names a route and its upstream. */
export interface RouteRef {
  readonly routeId: number;
  readonly upstreamId: number;
}

/** Names a route as one account uses it. */
export interface RouteUse extends RouteRef {
  readonly accountId: number;
}

interface Load {
  inFlight: number;
  latencyMs: number;
}

interface RouteRecord {
  readonly upstreamId: number;
  readonly state: RouteState;
}

/** Describes a rest that began here, for the log and for the other nodes. */
export type RestBegun = RouteRef & RestOf;

type Tokens = Pick<ProviderTokens, 'waitMs' | 'missing'>;
const NO_TOKENS: Tokens = { waitMs: () => 0, missing: () => [] };

interface FailingUpstream {
  id: number;
  failures_in_row: number;
  open_for_ms: number;
  accounts_resting?: number;
}

type Listeners = {
  /** Is called once for each rest, not for every failure that was running. */
  onRested: (begun: RestBegun) => void;
  /** `accountId` is null for all accounts. */
  onRecovered: (recovered: RouteRef & { accountId: number | null }) => void;
  /** Is called when the gateway should send its own request on this route; `probed` takes its result. */
  onProbeDue: (route: RouteRef, protocol: ClientProtocol) => void;
};

/**
 * Holds this node's observations of upstreams and routes: running requests and latency per upstream, rests per route and account. A failing model
 * takes no other model of its provider out of use, and a failing account takes the route from no other account. It is pure state; the clock is passed
 * in.
 */
export class UpstreamHealth {
  readonly #loads = new Map<number, Load>();
  readonly #routes = new Map<number, RouteRecord>();
  readonly #rooms = new StatedRooms();
  /** Maps the routes of the snapshot in use to their upstreams. */
  #configured: ReadonlyMap<number, string> = new Map();
  readonly #listeners: Listeners;
  readonly #tokens: Tokens;

  constructor({
    tokens = NO_TOKENS,
    onRested = () => undefined,
    onRecovered = () => undefined,
    onProbeDue = () => undefined,
  }: Partial<Listeners> & { tokens?: Tokens } = {}) {
    this.#tokens = tokens;
    this.#listeners = { onRested, onRecovered, onProbeDue };
  }

  /** Returns the ms until the account may try the route; 0 means now. */
  waitMs({ routeId, accountId }: RouteUse, now: number): number {
    return this.#routes.get(routeId)?.state.waitMs(accountId, now) ?? 0;
  }

  /** Returns the ms until an upstream may have the token that its requests need; 0 when it has one, or needs none. */
  tokenWaitMs(upstreamId: number, now: number): number {
    return this.#tokens.waitMs(upstreamId, now);
  }

  /** Returns true when the provider's rate limit is the reason for waiting. */
  isRateLimited({ routeId, accountId }: RouteUse, now: number): boolean {
    return this.#routes.get(routeId)?.state.isRateLimited(accountId, now) ?? false;
  }

  /** Counts the requests that the provider would still take, as it states; null where it states nothing. */
  room(routeId: number, now: number): number | null {
    return this.#rooms.of(routeId, now);
  }

  stated({ routeId }: RouteRef, limits: StatedLimits, now: number): void {
    this.#rooms.stated(routeId, limits, now);
  }

  inFlight(upstreamId: number): number {
    return this.#loads.get(upstreamId)?.inFlight ?? 0;
  }

  /** Returns the load; lower is better: a slower or busier upstream gets fewer requests. */
  load(upstreamId: number): number {
    const load = this.#loads.get(upstreamId);
    return load ? (load.inFlight + 1) * (load.latencyMs + 1) : 1;
  }

  started(use: RouteUse, now: number): void {
    this.#load(use.upstreamId).inFlight += 1;
    this.#rooms.started(use.routeId);
    this.#route(use).started(use.accountId, now);
  }

  /** Call it once for each `started`. */
  ended(use: RouteUse): void {
    this.#load(use.upstreamId).inFlight -= 1;
    this.#route(use).ended(use.accountId);
  }

  /** Notes the time until the answer's head, which is what a caller waits for, however long the answer is. */
  answered(use: RouteUse, { latencyMs, now }: { latencyMs: number; now: number }): void {
    const load = this.#load(use.upstreamId);
    load.latencyMs += (latencyMs - load.latencyMs) * LATENCY_SHARE_OF_NEWEST;
    this.#route(use).answered(use.accountId, now);
  }

  succeeded(use: RouteUse, now: number): void {
    this.#route(use).succeeded(use.accountId, now);
  }

  failed(use: RouteUse, failure: FailureSeen): void {
    this.#route(use).failed(use.accountId, failure);
  }

  /** Notes the result of a probe; null if the route answered, or nothing can be concluded. */
  probed(route: RouteRef, failure: FailureSeen | null, now: number): void {
    this.#routes.get(route.routeId)?.state.probed(failure, now);
  }

  /** Another node has seen the route fail, for one account or for all (null). Routes that this node does not know are ignored. */
  heardRest(
    routeId: number,
    accountId: number | null,
    { rest, now }: { rest: Rest; now: number },
  ): void {
    this.#routes.get(routeId)?.state.heardRest(accountId, rest, now);
  }

  heardRecovery(routeId: number, accountId: number | null, now: number): void {
    this.#routes.get(routeId)?.state.heardRecovery(accountId, now);
  }

  /** Returns for the node's report, worst first, upstreams that lack a token, whose last requests failed on some route, or that rest for some accounts. */
  failing(now: number) {
    const missing: FailingUpstream[] = this.#tokens.missing(now);
    const ids = new Set(missing.map(({ id }) => id));
    const others = this.dump(now)
      .filter((each) => each.failures_in_row > 0 || each.accounts_resting > 0)
      .filter((each) => !ids.has(each.upstream_id))
      .map(({ upstream_id: id, failures_in_row, open_for_ms, accounts_resting }) => ({
        id,
        failures_in_row,
        open_for_ms,
        ...(accounts_resting > 0 && { accounts_resting }),
      }));
    return [...missing, ...others].toSorted((a, b) => b.failures_in_row - a.failures_in_row);
  }

  /** Returns a row for each upstream for `stats/dict`, with the worst of its routes. */
  dump(now: number) {
    return [...this.#loads].map(([upstream_id, { inFlight, latencyMs }]) => {
      const routes = [...this.#routes]
        .filter(([, route]) => route.upstreamId === upstream_id)
        .map(([route_id, { state }]) => ({ route_id, ...state.dump(now) }));
      const resting = new Set(routes.flatMap(({ resting_accounts: ids }) => ids));
      return {
        upstream_id,
        in_flight: inFlight,
        latency_ms: Math.round(latencyMs),
        failures_in_row: Math.max(0, ...routes.map((route) => route.failures_in_row)),
        open_for_ms: Math.max(0, ...routes.map((route) => route.open_for_ms)),
        accounts_resting: resting.size,
        routes: routes.map((each) => ({
          ...each,
          resting_accounts: each.resting_accounts.slice(0, SHOWN_ACCOUNTS_MAX),
        })),
      };
    });
  }

  /** Removes what the newest snapshot no longer names, and the history of a route from before it or its upstream was reconfigured. */
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
    const isSame = (id: number): boolean =>
      configured.has(id) && configured.get(id) === this.#configured.get(id);
    for (const id of this.#routes.keys()) if (!isSame(id)) this.#routes.delete(id);
    this.#rooms.retain(isSame);
    for (const { id: routeId, upstream_id: upstreamId } of routes)
      this.#route({ routeId, upstreamId });
    this.#configured = configured;
    // Running requests stay counted, because each of them ends.
    for (const [id, { inFlight }] of this.#loads)
      if (!byId.has(id) && inFlight === 0) this.#loads.delete(id);
  }

  #load(upstreamId: number): Load {
    let load = this.#loads.get(upstreamId);
    if (!load) this.#loads.set(upstreamId, (load = { inFlight: 0, latencyMs: 0 }));
    return load;
  }

  #route({ routeId, upstreamId }: RouteRef): RouteState {
    let record = this.#routes.get(routeId);
    if (!record) {
      record = { upstreamId, state: new RouteState(this.#eventsOf({ routeId, upstreamId })) };
      this.#routes.set(routeId, record);
    }
    return record.state;
  }

  #eventsOf(route: RouteRef): RouteEvents {
    const { onRested, onRecovered, onProbeDue } = this.#listeners;
    return {
      onRested: (rest) => onRested({ ...route, ...rest }),
      onRecovered: (accountId) => onRecovered({ ...route, accountId }),
      onProbeDue: (protocol) => onProbeDue(route, protocol),
    };
  }
}
