import type { components } from '@tollgate/admin-client';
import type { ConfigFile } from './config-file.ts';
import type { Installation } from './installation.ts';
import { routeName, type Kind, type Plan, type Step } from './step.ts';

type Schemas = components['schemas'];

interface RemovalOptions {
  prune: boolean;
  subscriptionsOf: (modelIds: readonly number[]) => Promise<ReadonlyMap<number, number>>;
}

/** Plans the removal of objects that the installation has and the file lacks, in the sections that the file has. */
interface Beyond {
  models: Installation['models'];
  routes: readonly { id: number; name: string }[];
  upstreams: Installation['upstreams'];
}

/** Plans the removal of objects that the file lacks. Without `prune` all of them stay. */
export async function planRemovals(
  file: ConfigFile,
  installation: Installation,
  { prune, subscriptionsOf }: RemovalOptions,
): Promise<Plan> {
  const beyond: Beyond = {
    models: installation.models.filter(({ name }) => isLeftOut(file.models, name)),
    routes: installation.routes
      .filter((route) => isBeyond(route, file, installation))
      .map((route) => ({ id: route.id, name: nameOf(route, installation) })),
    upstreams: installation.upstreams.filter(({ name }) => isLeftOut(file.upstreams, name)),
  };
  if (prune)
    return prunePlan(
      beyond,
      installation,
      await subscriptionsOf(beyond.models.map(({ id }) => id)),
    );
  const unmanaged = (['models', 'routes', 'upstreams'] as const).flatMap((section) =>
    beyond[section].map(({ name }) => `${section.slice(0, -1)} ${name}`),
  );
  return { steps: [], unmanaged };
}

function isLeftOut(section: object | undefined, name: string): boolean {
  return section !== undefined && !Object.hasOwn(section, name);
}

/** Keeps models with subscriptions, their routes, and the upstreams of kept routes. */
function prunePlan(
  { models, routes, upstreams }: Beyond,
  installation: Installation,
  subscriptions: ReadonlyMap<number, number>,
): Plan {
  const held = models.filter(({ id }) => (subscriptions.get(id) ?? 0) > 0);
  const free = models.filter((model) => !held.includes(model));
  const removedModels = new Set(free.map(({ id }) => id));
  const removedRoutes = new Set(routes.map(({ id }) => id));
  const used = new Set(
    installation.routes
      .filter(({ id, model_id: modelId }) => !removedRoutes.has(id) && !removedModels.has(modelId))
      .map((route) => route.upstream_id),
  );
  const [kept, unused] = [true, false].map((isUsed) =>
    upstreams.filter(({ id }) => used.has(id) === isUsed),
  );
  return {
    steps: [
      ...held.flatMap(offTheShelf),
      ...free.flatMap((model) => removal('model', model)),
      ...routes.flatMap((route) => removal('route', route)),
      ...(unused ?? []).flatMap((upstream) => removal('upstream', upstream)),
    ],
    unmanaged: [
      ...held.map(
        ({ id, name }) => `model ${name}: ${subscriptions.get(id)} accounts are subscribed`,
      ),
      ...(kept ?? []).map(({ name }) => `upstream ${name}: routes lead to it`),
    ],
  };
}

/** Returns true when the file states routes of this model, but not this one. */
function isBeyond(route: Schemas['Route'], file: ConfigFile, installation: Installation): boolean {
  const { model, upstream } = endsOf(route, installation);
  const entry = Object.hasOwn(file.models ?? {}, model) ? file.models?.[model] : undefined;
  if (entry?.routes === undefined) return false;
  return !entry.routes.some(
    (stated) =>
      stated.upstream === upstream && (stated['upstream_model'] ?? model) === route.upstream_model,
  );
}

function endsOf(
  { model_id: modelId, upstream_id: upstreamId }: Schemas['Route'],
  { models, upstreams }: Installation,
): { model: string; upstream: string } {
  return {
    model: models.find(({ id }) => id === modelId)?.name ?? String(modelId),
    upstream: upstreams.find(({ id }) => id === upstreamId)?.name ?? String(upstreamId),
  };
}

function nameOf(route: Schemas['Route'], installation: Installation): string {
  return routeName({ ...endsOf(route, installation), upstreamModel: route.upstream_model });
}

function removal(kind: Kind, { id, name }: { id: number; name: string }): Step[] {
  return [{ action: 'remove', kind, name, id, differences: [], body: {} }];
}

/** A file never deletes a model of which accounts have bought tokens. */
function offTheShelf({ id, name, is_on_shelf: isOnShelf }: Schemas['Model']): Step[] {
  if (!isOnShelf) return [];
  const differences = [{ field: 'is_on_shelf', from: true, to: false }];
  return [{ action: 'change', kind: 'shelf', name, id, differences, body: { is_on_shelf: false } }];
}
