import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { openApiDocuments, type DeployTools } from './deploy-tools.ts';

type Schema = Record<string, unknown>;

const openApi = z.object({
  components: z
    .object({ schemas: z.record(z.string(), z.record(z.string(), z.unknown())) })
    .optional(),
});
const kinds = z.array(z.object({ group: z.string(), kind: z.string(), version: z.string() }));
const crd = z.object({
  spec: z.object({
    group: z.string(),
    names: z.object({ kind: z.string() }),
    versions: z.array(
      z.object({
        name: z.string(),
        schema: z.object({ openAPIV3Schema: z.record(z.string(), z.unknown()) }),
      }),
    ),
  }),
});
const REFERENCE = '#/components/schemas/';

/** Writes a strict JSON schema for each kind of the API, under the names that kubeconform looks for: `deployment-apps-v1.json`. Returns how many. */
export function writeSchemas(
  { kubernetes, definitions: files }: DeployTools,
  folder: string,
): number {
  mkdirSync(folder, { recursive: true });
  let written = 0;
  const write = (kind: string, group: string, version: string, schema: Schema): void => {
    const suffix = group === '' ? version : `${group.split('.')[0]}-${version}`;
    writeFileSync(
      path.join(folder, `${kind.toLowerCase()}-${suffix}.json`),
      JSON.stringify(schema),
    );
    written += 1;
  };
  for (const file of openApiDocuments(kubernetes)) {
    const schemas = openApi.parse(JSON.parse(readFileSync(file, 'utf8'))).components?.schemas ?? {};
    const definitions = strict(renamed(schemas));
    for (const [name, schema] of Object.entries(schemas))
      for (const { group, kind, version } of kindsOf(schema))
        write(kind, group, version, { $ref: `#/definitions/${name}`, definitions });
  }
  for (const file of files) {
    const { group, names, versions } = crd.parse(parse(readFileSync(file, 'utf8'))).spec;
    for (const { name, schema } of versions)
      write(names.kind, group, name, withMetadata(strict(schema.openAPIV3Schema)));
  }
  return written;
}

function kindsOf(schema: Schema): z.output<typeof kinds> {
  return kinds.safeParse(schema['x-kubernetes-group-version-kind']).data ?? [];
}

/** A resource's metadata is the same for all, and a CRD leaves it open. */
function withMetadata(schema: Schema): Schema {
  return {
    ...schema,
    properties: { ...Object(schema['properties']), metadata: { type: 'object' } },
  };
}

function renamed(schemas: Schema): Schema {
  const text = JSON.stringify(schemas).replaceAll(`"${REFERENCE}`, '"#/definitions/');
  return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
}

/** A field that the API does not know is a mistake: the API server would drop it. */
function strict(schema: Schema): Schema {
  return z.record(z.string(), z.unknown()).parse(closed(schema));
}

function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, each]) => [key, closed(each)] as const);
  const copy = Object.fromEntries(entries);
  const isOpen =
    'additionalProperties' in copy || copy['x-kubernetes-preserve-unknown-fields'] === true;
  const isObjectSchema =
    typeof copy['properties'] === 'object' && !('in' in copy) && copy['type'] === 'object';
  return isObjectSchema && !isOpen ? { ...copy, additionalProperties: false } : copy;
}
