import type { components } from '@tollgate/admin-client';
import { UsageError } from '../failure.ts';
import {
  fieldsOf,
  type ConfigFile,
  type Fields,
  type ModelEntry,
  type RouteEntry,
} from './config-file.ts';
import type { Installation } from './installation.ts';
import { planRemovals } from './plan-removals.ts';
import { isSameValue, withPlainAmounts } from './same-value.ts';
import { SECRET_FIELDS } from './secret-references.ts';
import { routeName, type Difference, type Plan, type Step } from './step.ts';

type Schemas = components['schemas'];

export interface PlanOptions {
  /** Removes objects that the file lacks, in the sections that it has. */
  prune: boolean;
  /** Sends secrets that the API already has again: it never returns them, so they cannot be compared. */
  sendSecrets: boolean;
  /** Returns the number of open subscriptions of models. */
  subscriptionsOf: (modelIds: readonly number[]) => Promise<ReadonlyMap<number, number>>;
}

/** Compares the file with the installation. Throws UsageError for a route to an upstream that neither has. */
export async function planChanges(
  file: ConfigFile,
  installation: Installation,
  options: PlanOptions,
): Promise<Plan> {
  const { upstreams = {}, models = {}, ceilings = {} } = file;
  const removals = await planRemovals(file, installation, options);
  const steps = [
    ...Object.entries(upstreams).flatMap(([name, stated]) =>
      planUpstream(name, stated, installation, options),
    ),
    ...Object.entries(models).flatMap(([name, entry]) =>
      planModel(name, entry, { file, installation }),
    ),
    ...changeOf({ kind: 'ceilings', name: 'ceilings' }, ceilings, installation.ceilings),
    ...removals.steps,
  ];
  return { steps, unmanaged: removals.unmanaged };
}

function planUpstream(
  name: string,
  stated: Fields,
  { upstreams }: Installation,
  { sendSecrets }: PlanOptions,
): Step[] {
  const current = upstreams.find((upstream) => upstream.name === name);
  if (!current) return [addition({ kind: 'upstream', name }, { name, ...stated })];
  const pairs = Object.entries(stated);
  const secrets = pairs.filter(([field]) => SECRET_FIELDS.has(field));
  const open = Object.fromEntries(pairs.filter(([field]) => !SECRET_FIELDS.has(field)));
  const { headers } = open;
  const spelled = headers === undefined ? open : { ...open, headers: withLowerCase(headers) };
  const differences = differencesOf(spelled, current);
  // A key stays valid only for the address that it was given for.
  const isMoved = differences.some(({ field }) => field === 'base_url');
  const sent = secrets.filter(([, value]) =>
    value === null ? current.has_api_key : sendSecrets || isMoved || !current.has_api_key,
  );
  return toChange({ kind: 'upstream', name, id: current.id, updatedAt: current.updated_at }, [
    ...differences,
    ...sent.map(([field, to]) => ({ field, from: current.has_api_key ? 'a secret' : null, to })),
  ]);
}

function withLowerCase(headers: unknown): unknown {
  if (typeof headers !== 'object' || headers === null) return headers;
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value as unknown]),
  );
}

interface Both {
  file: ConfigFile;
  installation: Installation;
}

function planModel(name: string, entry: ModelEntry, { file, installation }: Both): Step[] {
  const { price, is_on_shelf: isOnShelf, routes = [], ...own } = entry;
  const current = installation.models.find((model) => model.name === name);
  const shelf = { kind: 'shelf', name } as const;
  const planned = routes.flatMap((route, index) => {
    checkUpstream(`models.${name}.routes[${index}]`, route, { file, installation });
    return planRoute(route, { model: name, current, installation });
  });
  if (!current)
    return [
      addition(
        { kind: 'model', name },
        { name, ...own, ...(price && { price: withPlainAmounts(price) }) },
      ),
      ...planned,
      ...(isOnShelf ? toChange(shelf, [{ field: 'is_on_shelf', from: false, to: true }]) : []),
    ];
  const { id, updated_at: updatedAt } = current;
  return [
    ...changeOf({ kind: 'model', name, id, updatedAt }, own, current),
    ...(price ? planPrice(name, price, current, installation) : []),
    ...planned,
    ...(isOnShelf === undefined
      ? []
      : changeOf({ ...shelf, id }, { is_on_shelf: isOnShelf }, current)),
  ];
}

/** A price version is written completely: fields that the file omits come from the version in force. */
function planPrice(
  name: string,
  price: Fields,
  { id }: Schemas['Model'],
  { prices }: Installation,
): Step[] {
  const inForce = prices.get(id);
  const { free = false, ...amounts } = price;
  const stated: Fields = { ...(withPlainAmounts(amounts) as Fields), free };
  const differences = differencesOf(stated, inForce ?? {});
  if (differences.length === 0) return [];
  const kept = Object.entries(inForce ?? {}).filter(
    ([field]) => field !== 'free' && fieldsOf('pricing').has(field),
  );
  const body = {
    ...Object.fromEntries(kept),
    ...stated,
    model_id: id,
    replaces: inForce?.id ?? null,
  };
  return [{ action: inForce ? 'change' : 'add', kind: 'price', name, differences, body }];
}

function checkUpstream(place: string, { upstream }: RouteEntry, both: Both): void {
  const isKnown =
    Object.hasOwn(both.file.upstreams ?? {}, upstream) ||
    both.installation.upstreams.some(({ name }) => name === upstream);
  if (!isKnown)
    throw new UsageError(
      `${place}.upstream: neither the file nor the installation has an upstream "${upstream}"`,
    );
}

function planRoute(
  { upstream, ...stated }: RouteEntry,
  {
    model,
    current,
    installation,
  }: { model: string; current: Schemas['Model'] | undefined; installation: Installation },
): Step[] {
  const target = installation.upstreams.find(({ name }) => name === upstream);
  const upstreamModel = stated['upstream_model'] ?? model;
  const route = installation.routes.find(
    (candidate) =>
      candidate.model_id === current?.id &&
      candidate.upstream_id === target?.id &&
      candidate.upstream_model === upstreamModel,
  );
  const subject = {
    kind: 'route',
    name: routeName({ model, upstream, upstreamModel: String(upstreamModel) }),
    ends: { model, upstream },
  } as const;
  return route
    ? changeOf({ ...subject, id: route.id, updatedAt: route.updated_at }, stated, route)
    : [addition(subject, stated)];
}

type Subject = Omit<Step, 'action' | 'differences' | 'body'>;

function addition(subject: Subject, body: Fields): Step {
  const { name: _name, ...fields } = body;
  const differences = Object.entries(fields).map(([field, to]) => ({ field, from: undefined, to }));
  return { ...subject, action: 'add', differences, body };
}

function changeOf(subject: Subject, stated: Fields, current: object): Step[] {
  return toChange(subject, differencesOf(stated, current));
}

function toChange(subject: Subject, differences: Difference[]): Step[] {
  if (differences.length === 0) return [];
  const body = Object.fromEntries(differences.map(({ field, to }) => [field, to]));
  return [{ ...subject, action: 'change', differences, body }];
}

function differencesOf(stated: Fields, current: object): Difference[] {
  const now = current as Fields;
  return Object.entries(stated)
    .filter(([field, value]) => !isSameValue(value, now[field]))
    .map(([field, to]) => ({ field, from: now[field] ?? null, to }));
}
