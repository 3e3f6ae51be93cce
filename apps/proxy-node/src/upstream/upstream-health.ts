import type { RestingCredential, UsageFinal } from '@tollgate/contracts';
import type { ClientProtocol } from '@tollgate/protocols';
import type { SnapshotRoute, SnapshotUpstream } from '@tollgate/snapshot';
import type { CredentialRef, ProviderTokens } from './identity/provider-tokens.ts';
import { tokensOf } from '../observe/gen-ai.ts';
import type { Candidate } from '../snapshot/routing-index.ts';
import type { Rest } from './route-rest.ts';
import { failuresOf, restingCredentials, withoutToken } from './identity/resting-credentials.ts';
import { keyOf, Rooms, type NamedRoute, type RouteKey } from './pace/rooms.ts';
import { isCredentials } from './upstream-failure.ts';
import { RouteState, type FailureSeen, type RestOf, type RouteEvents } from './route-state.ts';

const LATENCY_SHARE_OF_NEWEST = 0.2;
/** `stats/dict` names at most this many accounts for which a route rests. */
const SHOWN_ACCOUNTS_MAX = 16;

/** Names a route and its upstream. */
export interface RouteRef {
  readonly routeId: number;
  readonly upstreamId: number;
  /** Names the one of several credentials that it concerns. */
  readonly credentialId?: number | undefined;
}

/** Names a route as one account uses it. */
export interface RouteUse extends RouteRef {
  readonly accountId: number;
}

interface Load {
  inFlight: number;
  latencyMs: number;
}

interface RouteRecord extends RouteRef {
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
  credentials?: RestingCredential[];
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
  readonly rooms = new Rooms();
  readonly #loads = new Map<number, Load>();
  readonly #routes = new Map<RouteKey, RouteRecord>();
  /** Maps the routes of the snapshot in use to their upstreams. */
  #configured: ReadonlyMap<RouteKey, string> = new Map();
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
  waitMs(use: RouteUse, now: number): number {
    const { routeId, credentialId, accountId } = use;
    const shared = this.#routes.get(routeId)?.state.waitMs(accountId, now) ?? 0;
    if (credentialId === undefined) return shared;
    return Math.max(shared, this.#routes.get(keyOf(use))?.state.waitMs(accountId, now) ?? 0);
  }

  /** Returns the ms until an upstream may have the token that its requests need; 0 when it has one, or needs none. */
  tokenWaitMs(upstream: CredentialRef, now: number): number {
    return this.#tokens.waitMs(upstream, now);
  }

  /** Returns true when the provider's rate limit is the reason for waiting. */
  isRateLimited(use: RouteUse, now: number): boolean {
    const { routeId, accountId } = use;
    const longest = this.waitMs(use, now);
    return [routeId, keyOf(use)].some((key) => {
      const state = this.#routes.get(key)?.state;
      return state?.waitMs(accountId, now) === longest && state.isRateLimited(accountId, now);
    });
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
    this.rooms.started(use, now);
    this.#route(use).started(use.accountId, now);
    this.#credential(use)?.started(use.accountId, now);
  }

  /** Call it once for each `started`. */
  ended(use: RouteUse): void {
    this.#load(use.upstreamId).inFlight -= 1;
    this.#route(use).ended(use.accountId);
    this.#credential(use)?.ended(use.accountId);
  }

  /** Notes the time until the answer's head, which is what a caller waits for, however long the answer is. */
  answered(use: RouteUse, { latencyMs, now }: { latencyMs: number; now: number }): void {
    const load = this.#load(use.upstreamId);
    load.latencyMs += (latencyMs - load.latencyMs) * LATENCY_SHARE_OF_NEWEST;
    this.#route(use).answered(use.accountId, now);
    this.#credential(use)?.answered(use.accountId, now);
  }

  succeeded(use: RouteUse, now: number): void {
    this.#route(use).succeeded(use.accountId, now);
    this.#credential(use)?.succeeded(use.accountId, now);
  }

  /** Notes a failure. A credential that is refused rests alone. */
  failed(use: RouteUse, failure: FailureSeen): void {
    const refused = isCredentials({ kind: failure.why }) ? this.#credential(use) : undefined;
    (refused ?? this.#route(use)).failed(use.accountId, failure);
  }

  /** Counts the tokens of an answer against the declared limits of its credential. */
  used(answeredBy: Candidate | null, final: UsageFinal, now: number): void {
    if (!answeredBy || !this.rooms.areDeclared) return;
    const { route, upstream } = answeredBy;
    const of = { routeId: route.id, credentialId: upstream.credentialId };
    this.rooms.used(of, tokensOf(final), now);
  }

  /** Notes the result of a probe; null if the route answered, or nothing can be concluded. */
  probed(route: RouteRef, failure: FailureSeen | null, now: number): void {
    this.#routes.get(keyOf(route))?.state.probed(failure, now);
  }

  /** Another node has seen the route fail, for one account or for all (null). Routes that this node does not know are ignored. */
  heardRest(
    route: NamedRoute,
    accountId: number | null,
    { rest, now }: { rest: Rest; now: number },
  ): void {
    this.#routes.get(keyOf(route))?.state.heardRest(accountId, rest, now);
  }

  heardRecovery(route: NamedRoute, accountId: number | null, now: number): void {
    this.#routes.get(keyOf(route))?.state.heardRecovery(accountId, now);
  }

  /** Returns for the node's report, worst first, upstreams that lack a token, whose last requests failed on some route, or that rest for some accounts. */
  failing(now: number) {
    const untold = this.#tokens.missing(now);
    const missing: FailingUpstream[] = untold.filter((each) => each.credentialId === undefined);
    const ids = new Set(missing.map(({ id }) => id));
    const others = this.dump(now)
      .map((each) => ({ ...each, credentials: withoutToken(each, untold) }))
      .filter(
        (each) =>
          each.failures_in_row > 0 || each.accounts_resting > 0 || each.credentials.length > 0,
      )
      .filter((each) => !ids.has(each.upstream_id))
      .map(({ upstream_id: id, failures_in_row, open_for_ms, accounts_resting, credentials }) => ({
        id,
        failures_in_row,
        open_for_ms,
        ...(accounts_resting > 0 && { accounts_resting }),
        ...(credentials.length > 0 && { credentials }),
      }));
    return [...missing, ...others].toSorted((a, b) => b.failures_in_row - a.failures_in_row);
  }

  /** Returns a row for each upstream for `stats/dict`, with the worst of its routes. */
  dump(now: number) {
    return [...this.#loads].map(([upstream_id, { inFlight, latencyMs }]) => {
      const own = [...this.#routes.values()].filter((route) => route.upstreamId === upstream_id);
      const all = own.map(({ routeId: route_id, credentialId, state }) => ({
        route_id,
        ...(credentialId !== undefined && { credential_id: credentialId }),
        ...state.dump(now),
      }));
      const routes = all.filter((each) => each.credential_id === undefined);
      const resting = new Set(routes.flatMap(({ resting_accounts: ids }) => ids));
      return {
        upstream_id,
        in_flight: inFlight,
        latency_ms: Math.round(latencyMs),
        failures_in_row: Math.max(0, ...routes.map(({ route_id }) => failuresOf(route_id, all))),
        open_for_ms: Math.max(0, ...routes.map((route) => route.open_for_ms)),
        accounts_resting: resting.size,
        credentials: restingCredentials(all),
        routes: all.map((each) => ({
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
    upstreams: readonly Pick<SnapshotUpstream, 'id' | 'credentials'>[];
    routes: readonly Pick<SnapshotRoute, 'id' | 'upstream_id'>[];
  }): void {
    const byId = new Map(upstreams.map((upstream) => [upstream.id, upstream]));
    const known = routes.flatMap((route) => {
      const { credentials, ...upstream } = byId.get(route.upstream_id) ?? {};
      const ref: RouteRef = { routeId: route.id, upstreamId: route.upstream_id };
      // Each of several credentials is replaced by itself, the upstream's own among them.
      const shared = credentials ? { ...upstream, sealed_api_key: null } : upstream;
      const of = JSON.stringify([route, shared]);
      return [
        { ref, of, limits: {} },
        ...(credentials ?? []).map(({ id: credentialId, sealed_api_key, rpm, tpm }) => ({
          ref: { ...ref, credentialId },
          of: of + sealed_api_key,
          limits: { rpm, tpm },
        })),
      ];
    });
    const configured = new Map(known.map(({ ref, of }) => [keyOf(ref), of]));
    const isSame = (key: RouteKey): boolean =>
      configured.has(key) && configured.get(key) === this.#configured.get(key);
    for (const key of this.#routes.keys()) if (!isSame(key)) this.#routes.delete(key);
    this.rooms.retain(isSame, (key) => configured.has(key));
    for (const { ref, limits } of known) {
      if (ref.credentialId === undefined) this.#route(ref);
      else this.#credential(ref);
      this.rooms.declare(ref, limits);
    }
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
    return this.#routes.get(routeId)?.state ?? this.#added({ routeId, upstreamId });
  }

  /** Returns the state of the route with this credential; undefined where the upstream has one alone. */
  #credential(use: RouteRef): RouteState | undefined {
    if (use.credentialId === undefined) return undefined;
    return this.#routes.get(keyOf(use))?.state ?? this.#added(use);
  }

  #added({ routeId, upstreamId, credentialId }: RouteRef): RouteState {
    const ref = { routeId, upstreamId, credentialId };
    const state = new RouteState(this.#eventsOf(ref));
    this.#routes.set(keyOf(ref), { ...ref, state });
    return state;
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
