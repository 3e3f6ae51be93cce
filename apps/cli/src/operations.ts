import { readFileSync } from 'node:fs';
import { API_DOCUMENT } from '@tollgate/admin-client';
import { z } from 'zod';

/** Matches a JSON schema as far as the command line needs it. */
const schemaShape = z.looseObject({
  get anyOf() {
    return z.array(schemaShape).optional();
  },
  get properties() {
    return z.record(z.string(), schemaShape).optional();
  },
  type: z.union([z.string(), z.array(z.string())]).optional(),
  enum: z.array(z.unknown()).optional(),
  required: z.array(z.string()).optional(),
});
type Schema = z.infer<typeof schemaShape>;

const operationShape = z.looseObject({
  operationId: z.string(),
  summary: z.string().default(''),
  parameters: z
    .array(z.looseObject({ name: z.string(), in: z.string(), schema: schemaShape }))
    .default([]),
  requestBody: z
    .looseObject({
      required: z.boolean().default(false),
      content: z.record(z.string(), z.looseObject({ schema: schemaShape })),
    })
    .optional(),
  responses: z.record(
    z.string(),
    z.looseObject({ content: z.record(z.string(), z.unknown()).optional() }),
  ),
});
const documentShape = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), operationShape)),
});

export type ValueKind = 'integer' | 'number' | 'boolean' | 'string' | 'json';

/** Describes a query parameter or a member of the body. */
export interface Field {
  /** Is the interface's name, such as `user_id`. */
  name: string;
  place: 'query' | 'body';
  kind: ValueKind;
  /** Lists the values that the interface accepts, when it lists them. */
  choices: readonly string[];
  isRequired: boolean;
  isNullable: boolean;
}

/** Describes one route of the administration interface as a command. */
export interface Operation {
  /** Holds the words of the command, such as `users approve`. */
  group: string;
  verb: string;
  method: string;
  path: string;
  summary: string;
  /** Lists the placeholders of the path, in order. */
  pathNames: readonly string[];
  fields: readonly Field[];
  /** Is absent where the route takes no body. An optional body is omitted when none of its fields was typed. */
  body?: 'required' | 'optional';
  takesIdempotencyKey: boolean;
  /** Is true when the interface can answer CSV (`format=csv`). */
  hasCsv: boolean;
  isEventStream: boolean;
  /** Is true when no other command restores what this one removes. */
  isDestructive: boolean;
}

/** Maps group names of the document to the names that people type. */
const GROUPS: Readonly<Record<string, string>> = {
  'access-tokens': 'tokens',
  'proxy-nodes': 'nodes',
  payments: 'wallet',
  'subscription-history': 'subscriptions',
  'account-removal': 'users',
  directory: 'users',
  'model-removal': 'models',
  'config-check': 'proxy',
  'wallet-logs': 'wallet',
};
/** Maps handler names of the document to names that read better. */
const RENAMED: Readonly<Record<string, readonly [group: string, verb: string]>> = {
  Payments_list: ['wallet', 'payments'],
  Payments_payoutList: ['wallet', 'payouts'],
  Usage_read: ['usage', 'statistics'],
  FirstSteps_ofAccount: ['first-steps', 'account'],
  FirstSteps_ofInstallation: ['first-steps', 'installation'],
};
const DESTRUCTIVE = new Set(['subscriptions unsubscribe', 'snapshots rollback', 'users erase']);
const METHODS = new Set(['get', 'post', 'put', 'delete']);

/** Returns every operation of the API document, in order. */
export function readOperations(): Operation[] {
  const { paths } = documentShape.parse(JSON.parse(readFileSync(API_DOCUMENT, 'utf8')));
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => METHODS.has(method))
      .map(([method, operation]) => toOperation(path, method, operation)),
  );
}

function toOperation(
  path: string,
  method: string,
  { operationId, summary, parameters, requestBody, responses }: z.infer<typeof operationShape>,
): Operation {
  const [prefix = '', name = ''] = operationId.split('_');
  const [group, verb] = RENAMED[operationId] ?? [
    GROUPS[kebab(prefix)] ?? kebab(prefix),
    // The command is `keys windows` instead of `keys read-windows`.
    kebab(name).replace(/^read-/, ''),
  ];
  const query = parameters
    .filter((parameter) => parameter.in === 'query')
    .map(({ name: parameter, schema }) => toField('query', parameter, schema, false));
  const body = requestBody?.content['application/json']?.schema;
  const isBodyRequired = requestBody?.required ?? false;
  const content = Object.keys(responses['200']?.content ?? {});
  return {
    group,
    verb,
    method: method.toUpperCase(),
    path,
    summary,
    pathNames: [...path.matchAll(/\{(\w+)\}/g)].map(([, placeholder = '']) => placeholder),
    fields: [
      ...query.filter(({ name: parameter }) => parameter !== 'format'),
      ...bodyFields(body, isBodyRequired),
    ],
    ...(requestBody && { body: isBodyRequired ? 'required' : 'optional' }),
    takesIdempotencyKey: parameters.some((parameter) => parameter.name === 'Idempotency-Key'),
    hasCsv: query.some(
      ({ name: parameter, choices }) => parameter === 'format' && choices.includes('csv'),
    ),
    isEventStream: content.includes('text/event-stream'),
    isDestructive: method === 'delete' || DESTRUCTIVE.has(`${group} ${verb}`),
  };
}

function bodyFields(schema: Schema | undefined, isBodyRequired: boolean): Field[] {
  const object = schema && [schema, ...(schema.anyOf ?? [])].find(({ properties }) => properties);
  return Object.entries(object?.properties ?? {}).map(([name, property]) =>
    toField('body', name, property, isBodyRequired && !!object?.required?.includes(name)),
  );
}

function toField(place: Field['place'], name: string, schema: Schema, isRequired: boolean): Field {
  const types = typesOf(schema);
  return {
    name,
    place,
    kind: kindOf(types.filter((type) => type !== 'null')),
    choices: (schema.enum ?? schema.anyOf?.flatMap((part) => part.enum ?? []) ?? []).map(String),
    isRequired,
    isNullable: types.includes('null'),
  };
}

function typesOf(schema: Schema): string[] {
  const own = schema.type === undefined ? [] : [schema.type].flat();
  return [...own, ...(schema.anyOf ?? []).flatMap(typesOf)];
}

/** Amounts may be text or a number; text keeps every digit. */
function kindOf(types: readonly string[]): ValueKind {
  if (types.includes('string') || types.length === 0) return 'string';
  const [type] = types;
  return type === 'integer' || type === 'number' || type === 'boolean' ? type : 'json';
}

export function kebab(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();
}
