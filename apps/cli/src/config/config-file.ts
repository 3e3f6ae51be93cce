import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { UsageError } from '../failure.ts';
import { readOperations, type Field } from '../operations.ts';
import { faultOfSecrets, SECRET_FIELDS } from './secret-references.ts';

export type Fields = Readonly<Record<string, unknown>>;

const fields = z.record(z.string(), z.unknown());
const named = <T extends z.ZodType>(entry: T) => z.record(z.string().min(1), entry);
const routeEntry = z.looseObject({ upstream: z.string() });
const modelEntry = z.looseObject({
  price: z.looseObject({ price_per_million: z.union([z.string(), z.number()]) }).optional(),
  is_on_shelf: z.boolean().optional(),
  routes: z.array(routeEntry).optional(),
});
const fileSchema = z.strictObject({
  upstreams: named(fields).optional(),
  models: named(modelEntry).optional(),
  ceilings: fields.optional(),
});
/** States what an installation must have. The objects that it does not mention stay. */
export type ConfigFile = z.infer<typeof fileSchema>;
export type ModelEntry = z.infer<typeof modelEntry>;
export type RouteEntry = z.infer<typeof routeEntry>;

/** Lists the section names, and members that replace a field of the API by the file's structure. */
const SHAPE = {
  upstreams: ['name'],
  models: ['name', 'price', 'is_on_shelf'],
  pricing: ['model_id', 'replaces', 'effective_at'],
  routing: ['model_id', 'upstream_id'],
  ceilings: [],
} as const;
export const PATHS = {
  upstreams: '/admin-api/upstreams',
  models: '/admin-api/models',
  pricing: '/admin-api/models/pricing',
  routing: '/admin-api/routing',
  ceilings: '/admin-api/admin/ceilings',
} as const;
export type Section = keyof typeof PATHS;

/** Returns the fields that the API document allows for an entry of the section. */
export function fieldsOf(section: Section): ReadonlyMap<string, Field> {
  return FIELDS_BY_SECTION[section];
}
const FIELDS_BY_SECTION = readFields();

function readFields(): Record<Section, ReadonlyMap<string, Field>> {
  const operations = readOperations();
  const entries = Object.entries(PATHS).map(([section, path]) => {
    const operation = operations.find(
      (candidate) => candidate.path === path && candidate.method !== 'GET',
    );
    const shape: readonly string[] = SHAPE[section as Section];
    return [
      section,
      new Map(
        operation?.fields
          .filter(({ place, name }) => place === 'body' && !shape.includes(name))
          .map((field) => [field.name, field]),
      ),
    ];
  });
  return Object.fromEntries(entries) as Record<Section, ReadonlyMap<string, Field>>;
}

/** Reads the file, `-` for standard input. It throws a UsageError that names the entry. */
export function readConfigFile(path: string): ConfigFile {
  let text: string;
  try {
    text = readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw new UsageError(`The file cannot be read: ${(error as Error).message}`);
  }
  return parseConfig(text);
}

export function parseConfig(text: string): ConfigFile {
  const found = fileSchema.safeParse(parseYaml(text));
  if (!found.success)
    throw new UsageError(
      found.error.issues
        .map(({ path, message }) => `${path.join('.') || 'the file'}: ${message}`)
        .join('\n'),
    );
  const faults = faultsOf(found.data);
  if (faults.length > 0) throw new UsageError(faults.join('\n'));
  return found.data;
}

function parseYaml(text: string): unknown {
  try {
    return parse(text) ?? {};
  } catch (error) {
    throw new UsageError(`The file is not YAML: ${(error as Error).message}`);
  }
}

function faultsOf({ upstreams = {}, models = {}, ceilings = {} }: ConfigFile): string[] {
  return [
    ...Object.entries(upstreams).flatMap(([name, entry]) =>
      faultsOfEntry('upstreams', `upstreams.${name}`, entry),
    ),
    ...Object.entries(models).flatMap(([name, entry]) => faultsOfModel(`models.${name}`, entry)),
    ...faultsOfEntry('ceilings', 'ceilings', ceilings),
  ];
}

function faultsOfModel(place: string, entry: ModelEntry): string[] {
  const { price = {}, is_on_shelf: _shelf, routes = [], ...own } = entry;
  return [
    ...faultsOfEntry('models', place, own),
    ...faultsOfEntry('pricing', `${place}.price`, price),
    ...routes.flatMap(({ upstream: _upstream, ...route }, index) =>
      faultsOfEntry('routing', `${place}.routes[${index}]`, route),
    ),
  ];
}

/** Checks names and kinds by the API document; the API checks the rest. */
function faultsOfEntry(section: Section, place: string, entry: Fields): string[] {
  const known = fieldsOf(section);
  return Object.entries(entry).flatMap(([name, value]) => {
    const field = known.get(name);
    if (!field)
      return [
        `${place}.${name}: there is no such field; there are ${[...known.keys()].join(', ')}`,
      ];
    const fault = SECRET_FIELDS.has(name) ? faultOfSecrets(value) : faultOfValue(field, value);
    return fault === undefined ? [] : [`${place}.${name}: ${fault}`];
  });
}

function faultOfValue({ kind, choices, isNullable }: Field, value: unknown): string | undefined {
  if (value === null) return isNullable ? undefined : 'must not be null';
  if (kind === 'boolean' || kind === 'integer') {
    const isOfKind = kind === 'boolean' ? typeof value === 'boolean' : Number.isInteger(value);
    if (!isOfKind) return `must be ${kind === 'boolean' ? 'true or false' : 'a whole number'}`;
  }
  if (kind === 'string' && choices.length > 0 && !choices.includes(String(value)))
    return `must be one of ${choices.join(', ')}`;
  return undefined;
}
