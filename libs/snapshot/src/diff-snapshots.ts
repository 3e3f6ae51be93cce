import { canonicalJson } from './canonical-json.ts';
import type { SnapshotDocument } from './snapshot-document.ts';

/** Holds the changes between two documents, by kind; entries are matched by id. */
export interface SnapshotDiff {
  models: KindDiff;
  upstreams: KindDiff;
  routes: KindDiff;
}
export interface KindDiff {
  added: DiffSubject[];
  removed: DiffSubject[];
  changed: (DiffSubject & { changes: FieldChange[] })[];
}
export interface DiffSubject {
  id: number;
  /** Is the model or upstream name; for a route both, as `gpt-4o → main`. */
  name: string;
}
/** Describes a change at a `path` such as `prices[0].weight_input`. `from` is absent where a field appeared, `to` where it went. A secret is never shown, only that it changed. */
export interface FieldChange {
  path: string;
  from?: unknown;
  to?: unknown;
}

const SECRET_FIELD = 'sealed_api_key';

export function diffSnapshots(source: SnapshotDocument, target: SnapshotDocument): SnapshotDiff {
  return {
    models: diffKind(source.models, target.models, (model) => model.name),
    upstreams: diffKind(source.upstreams, target.upstreams, (upstream) => upstream.name),
    routes: diffKind(source.routes, target.routes, routeNamer(source, target)),
  };
}

/** Returns the model and the upstream that a route joins, by their newest names. */
function routeNamer(
  source: SnapshotDocument,
  target: SnapshotDocument,
): (route: SnapshotDocument['routes'][number]) => string {
  const namesOf = (kind: 'models' | 'upstreams'): ReadonlyMap<number, string> =>
    new Map([...source[kind], ...target[kind]].map(({ id, name }) => [id, name]));
  const [models, upstreams] = [namesOf('models'), namesOf('upstreams')];
  return ({ model_id: model, upstream_id: upstream }) =>
    `${models.get(model) ?? model} → ${upstreams.get(upstream) ?? upstream}`;
}

function diffKind<T extends { id: number }>(
  source: readonly T[],
  target: readonly T[],
  nameOf: (entry: T) => string,
): KindDiff {
  const before = new Map(source.map((entry) => [entry.id, entry]));
  const after = new Map(target.map((entry) => [entry.id, entry]));
  const subject = (entry: T): DiffSubject => ({ id: entry.id, name: nameOf(entry) });
  return {
    added: target.filter((entry) => !before.has(entry.id)).map(subject),
    removed: source.filter((entry) => !after.has(entry.id)).map(subject),
    changed: target
      .map((entry) => ({
        ...subject(entry),
        changes: changesBetween(before.get(entry.id) ?? entry, entry),
      }))
      .filter((entry) => entry.changes.length > 0),
  };
}

function changesBetween(source: unknown, target: unknown, path = ''): FieldChange[] {
  if (
    !isContainer(source) ||
    !isContainer(target) ||
    Array.isArray(source) !== Array.isArray(target)
  )
    return leafChange(source, target, path);
  const before = new Map(Object.entries(source));
  const after = new Map(Object.entries(target));
  const keys = [...new Set([...before.keys(), ...after.keys()])];
  return keys.flatMap((key) => {
    const inner = Array.isArray(target) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
    return changesBetween(before.get(key), after.get(key), inner);
  });
}

function leafChange(source: unknown, target: unknown, path: string): FieldChange[] {
  const from = source === undefined ? undefined : canonicalJson(source);
  const to = target === undefined ? undefined : canonicalJson(target);
  if (from === to) return [];
  if (path.split('.').at(-1) === SECRET_FIELD) return [{ path }];
  return [
    {
      path,
      ...(source !== undefined && { from: withoutSecrets(source) }),
      ...(target !== undefined && { to: withoutSecrets(target) }),
    },
  ];
}

/** Leaves out secrets, which a value that appeared or went as a whole may contain. */
function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (!isContainer(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== SECRET_FIELD)
      .map(([name, inner]) => [name, withoutSecrets(inner)]),
  );
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
