import { canExchange, isNative, type ClientProtocol } from '@tollgate/protocols';
import {
  endpointsOf,
  type PublishedSnapshot,
  type SnapshotModel,
  type SnapshotRoute,
  type SnapshotUpstream,
} from '@tollgate/snapshot';

/** Describes an upstream as requests reach it: with one credential, whose id is set where the upstream has several. */
export interface ServedUpstream extends Omit<SnapshotUpstream, 'credentials'> {
  readonly credentialId?: number;
}

/** Joins a route with one credential of its upstream. */
export interface Candidate {
  readonly route: SnapshotRoute;
  readonly upstream: ServedUpstream;
  /** Is the part of the route's weight that this credential has by its own weight. */
  readonly weight: number;
}

/** Holds candidates in order of preference; within a group weight and load decide. */
export type CandidateGroups = readonly (readonly Candidate[])[];

/** Holds one snapshot, arranged for lookups. It is immutable: a newer snapshot makes a new index, and requests keep the one with which they began. */
export class RoutingIndex {
  readonly snapshot: PublishedSnapshot;
  readonly #byName: ReadonlyMap<string, SnapshotModel>;
  readonly #byId: ReadonlyMap<number, SnapshotModel>;
  /** Maps ids to upstreams with all their endpoints; one with several credentials occurs once for each. */
  readonly #upstreams: ReadonlyMap<number, readonly Shared[]>;
  readonly #tiers: ReadonlyMap<number, Candidate[][]>;
  readonly #groups = new Map<string, CandidateGroups>();

  constructor(snapshot: PublishedSnapshot) {
    const { models, routes, upstreams } = snapshot.document;
    this.snapshot = snapshot;
    // The control plane lets no two models share a name or alias; if they did, the model's own name would win.
    this.#byName = new Map([
      ...models.flatMap((model) => (model.aliases ?? []).map((alias) => [alias, model] as const)),
      ...models.map((model) => [model.name, model] as const),
    ]);
    this.#byId = new Map(models.map((model) => [model.id, model]));
    this.#upstreams = new Map(
      upstreams.map((upstream) => [
        upstream.id,
        sharedOf({ ...upstream, endpoints: [...endpointsOf(upstream)] }),
      ]),
    );
    this.#tiers = tiersByModel(routes, this.#upstreams);
  }

  /** Finds a model by name or alias. */
  modelNamed(name: string): SnapshotModel | undefined {
    return this.#byName.get(name);
  }

  modelById(id: number): SnapshotModel | undefined {
    return this.#byId.get(id);
  }

  /** Returns the upstream with the named credential, or with its own. Returns undefined where the snapshot has it no longer. */
  upstreamById(id: number, credentialId = 0): ServedUpstream | undefined {
    return this.#upstreams
      .get(id)
      ?.find(({ upstream }) => (upstream.credentialId ?? 0) === credentialId)?.upstream;
  }

  /** Returns each upstream with each of its credentials. */
  get served(): ServedUpstream[] {
    return [...this.#upstreams.values()].flat().map(({ upstream }) => upstream);
  }

  /** Finds any candidate of the route where no credential is named. This searches all candidates, because it is rarely called. */
  candidateById(routeId: number, credentialId?: number): Candidate | undefined {
    return [...this.#tiers.values()]
      .flat(2)
      .find(
        ({ route, upstream }) =>
          route.id === routeId &&
          (credentialId === undefined || upstream.credentialId === credentialId),
      );
  }

  /**
   * Returns candidates, lowest priority number first; within a tier, routes of the caller's protocol precede those that need translation. The result
   * is empty when none can serve it.
   */
  candidates(modelId: number, protocol: ClientProtocol): CandidateGroups {
    const key = `${modelId}/${protocol}`;
    let groups = this.#groups.get(key);
    if (!groups)
      this.#groups.set(key, (groups = groupsFor(this.#tiers.get(modelId) ?? [], protocol)));
    return groups;
  }

  /** Returns the model's name at this upstream; undefined when no route leads there. */
  upstreamModel(modelId: number, upstreamId: number): string | undefined {
    const routes = this.#tiers.get(modelId)?.flat() ?? [];
    return routes.find(({ upstream }) => upstream.id === upstreamId)?.route.upstream_model;
  }

  hasRoutes(modelId: number): boolean {
    return this.#tiers.has(modelId);
  }
}

function tiersByModel(
  routes: readonly SnapshotRoute[],
  upstreams: ReadonlyMap<number, readonly Shared[]>,
): Map<number, Candidate[][]> {
  const tiers = new Map<number, Candidate[][]>();
  const byModel = Map.groupBy(routes, (route) => route.model_id);
  for (const [modelId, ofModel] of byModel) {
    const byPriority = Map.groupBy(ofModel, (route) => route.priority);
    const priorities = [...byPriority.keys()].sort((one, other) => one - other);
    tiers.set(
      modelId,
      priorities.map((priority) => candidatesOf(byPriority.get(priority) ?? [], upstreams)),
    );
  }
  return tiers;
}

/** The compiler leaves no route without its upstream; one without would be skipped instead of breaking the whole snapshot. */
function candidatesOf(
  routes: readonly SnapshotRoute[],
  upstreams: ReadonlyMap<number, readonly Shared[]>,
): Candidate[] {
  return routes.flatMap((route) =>
    (upstreams.get(route.upstream_id) ?? []).map(({ upstream, share }) => ({
      ...{ route, upstream },
      weight: route.weight * share,
    })),
  );
}

interface Shared {
  readonly upstream: ServedUpstream;
  readonly share: number;
}

function sharedOf({ credentials, ...upstream }: SnapshotUpstream): Shared[] {
  if (!credentials) return [{ upstream, share: 1 }];
  const whole = credentials.reduce((sum, { weight }) => sum + weight, 0);
  return credentials.map(({ id, weight, sealed_api_key }) => ({
    upstream: { ...upstream, sealed_api_key, credentialId: id },
    share: weight / whole,
  }));
}

function groupsFor(tiers: readonly Candidate[][], protocol: ClientProtocol): CandidateGroups {
  return tiers.flatMap((tier) => {
    const served = tier.filter(({ upstream }) => canExchange(protocol, upstream));
    const native = served.filter(({ upstream }) => isNative(protocol, upstream));
    const translated = served.filter(({ upstream }) => !isNative(protocol, upstream));
    return [native, translated].filter((group) => group.length > 0);
  });
}
