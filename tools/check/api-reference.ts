import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

const DOCUMENT = path.join(import.meta.dirname, '../../libs/admin-client/openapi.json');

const schema = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string().transform((one) => [one]), z.array(z.string())]).optional(),
  format: z.string().optional(),
  description: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  get items() {
    return schema.optional();
  },
  get anyOf() {
    return z.array(schema).optional();
  },
  get properties() {
    return z.record(z.string(), schema).optional();
  },
  required: z.array(z.string()).optional(),
  'x-rules': z.array(z.string()).default([]),
});
type Schema = z.output<typeof schema>;
const content = z.record(z.string(), z.object({ schema }));
const bodyContent = z.object({ schema, example: z.unknown() });
const response = z.object({
  $ref: z.string().optional(),
  content: content.optional(),
  'x-codes': z.array(z.string()).optional(),
});
const operation = z.object({
  summary: z.string(),
  tags: z.array(z.string()),
  parameters: z.array(
    z.object({
      name: z.string(),
      in: z.string(),
      required: z.boolean().optional(),
      description: z.string().optional(),
      schema,
    }),
  ),
  requestBody: z
    .object({ content: z.object({ 'application/json': bodyContent }), required: z.boolean() })
    .optional(),
  responses: z.record(z.string(), response),
  'x-permission': z.string(),
});
type Operation = z.output<typeof operation>;
const documentSchema = z.object({
  tags: z.array(z.object({ name: z.string(), description: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({
    schemas: z.record(z.string(), schema),
    responses: z.record(z.string(), response),
  }),
});
type ApiDocument = z.output<typeof documentSchema>;

const HEAD = `# API reference

The administration interface, written by \`npm run generate\` from \`libs/admin-client/openapi.json\`, which is written from the code; tests keep all three equal. A running installation shows the same at \`/admin-api/docs\`.
Every route that is not public takes \`Authorization: Bearer <token>\` from \`POST /admin-api/auth/login\`. **user**: an active account, for its own data; **admin**: administrators. Codes are explained in [errors.md](errors.md);
besides those listed, any route may answer \`internal_error\` or \`service_unavailable\`.

## Versions and deprecation

\`info.version\` of the document is the version of the release; \`tollgate --version\` and the reports of nodes show the same. Versions follow semantic versioning (https://semver.org); before 1.0 a minor release counts as a major one.

- Within a major version no route, field, parameter, value or code is renamed or removed, nothing that was accepted is refused except to repair a fault, and no new field of a body is required.
- Routes, optional fields, fields of answers, values of enumerations and refusal codes may be added at any time. Clients ignore fields that they do not know and treat an unknown \`code\` by its status.
- What will be removed is marked \`deprecated: true\` in the document and stands under *Deprecated* in the changelog, with its replacement, for at least one minor release and 90 days. It is removed only in a major release, under *Removed*.
- Control planes, nodes, the command line and the console of one installation may be of neighbouring releases while it is upgraded: control planes first.
`;

/** Returns the text of docs/api-reference.md. */
export function apiReference(): string {
  const document = documentSchema.parse(JSON.parse(readFileSync(DOCUMENT, 'utf8')));
  return [
    HEAD,
    ...document.tags.map((tag) => tagSection(document, tag)),
    schemaSection(document),
  ].join('\n');
}

function tagSection(
  document: ApiDocument,
  { name, description }: { name: string; description: string },
): string {
  const routes = Object.entries(document.paths).flatMap(([at, item]) =>
    Object.entries(item)
      .filter(([, one]) => one.tags.includes(name))
      .map(([method, one]) => routeSection(document, `${method.toUpperCase()} ${at}`, one)),
  );
  return `## ${name}\n\n${description}.\n\n${routes.join('\n')}`;
}

function routeSection(document: ApiDocument, name: string, route: Operation): string {
  const success = Object.entries(route.responses).find(([status]) => status.startsWith('2'));
  const body = route.requestBody?.content['application/json'];
  const rules = [
    ...route.parameters.flatMap((parameter) => rulesOf(parameter.schema, parameter.name)),
    ...(body ? rulesOf(body.schema, '') : []),
  ];
  const codes = Object.entries(route.responses)
    .filter(([status]) => /^[45]/.test(status))
    .map(([status, { $ref }]) => `${status} ${codesOf(document, $ref).join(', ')}`);
  const lines = [
    `Permission: **${route['x-permission']}**.`,
    ...(route.parameters.length > 0
      ? [`Parameters: ${route.parameters.map(parameterText).join(', ')}.`]
      : []),
    ...(body
      ? [
          `Body${route.requestBody?.required ? '' : ' (may be left out)'}: ${bodyText(body.schema)}.`,
          `Example: \`${JSON.stringify(body.example)}\`.`,
        ]
      : []),
    ...(rules.length > 0 ? [`Rules: ${rules.join('; ')}.`] : []),
    `Answer: ${success?.[0] ?? ''}${answerText(success?.[1].content)}.`,
    ...(codes.length > 0 ? [`Refusals: ${codes.join('; ')}.`] : []),
  ];
  return `### ${name}\n\n${route.summary}.\n\n${lines.map((line) => `- ${line}`).join('\n')}\n`;
}

/** Returns rules that JSON Schema cannot express, each with its field. */
function rulesOf(of: Schema, field: string): string[] {
  const within = field === '' ? '' : `${field}.`;
  const name = field === '' ? '' : `\`${field}\` `;
  return [
    ...of['x-rules'].map((rule) => `${name}${rule}`),
    ...(of.anyOf ?? []).flatMap((one) => rulesOf(one, field)),
    ...Object.entries(of.properties ?? {}).flatMap(([key, one]) => rulesOf(one, `${within}${key}`)),
  ];
}

function codesOf(document: ApiDocument, ref: string | undefined): string[] {
  const codes = document.components.responses[ref?.split('/').at(-1) ?? '']?.['x-codes'] ?? [];
  return codes.map((code) => `\`${code}\``);
}

function parameterText(parameter: Operation['parameters'][number]): string {
  return `\`${parameter.name}\` ${parameter.in === 'query' ? '' : `(${parameter.in}) `}${typeText(parameter.schema)}`;
}

function bodyText(body: Schema): string {
  if (!body.properties) return typeText(body);
  return Object.entries(body.properties)
    .map(
      ([name, field]) =>
        `\`${name}\`${body.required?.includes(name) ? '' : '?'} ${typeText(field)}`,
    )
    .join(', ');
}

function answerText(found: Operation['responses'][string]['content']): string {
  const json = found?.['application/json']?.schema;
  if (!json) return ', no content';
  return `, ${json.$ref === undefined && json.properties ? `{ ${bodyText(json)} }` : typeText(json)}${found?.['text/csv'] ? ', or `text/csv` with `format=csv`' : ''}`;
}

function schemaSection({ components }: ApiDocument): string {
  const sections = Object.entries(components.schemas).map(
    ([name, { enum: values, properties = {}, required = [] }]) => {
      if (values)
        return `### ${name}\n\n${values.map((value) => `\`${String(value)}\``).join(', ')}\n`;
      const rows = Object.entries(properties).map(
        ([field, of]) =>
          `| \`${field}\`${required.includes(field) ? '' : '?'} | ${typeText(of).replaceAll('|', '\\|')} | ${(of.description ?? '').replaceAll('|', '\\|')} |`,
      );
      return `### ${name}\n\n| Field | Type | Meaning |\n| --- | --- | --- |\n${rows.join('\n')}\n`;
    },
  );
  return `## Shapes\n\nA field with ? may be absent.\n\n${sections.join('\n')}`;
}

/** Returns a short description of the type; the document has every bound. */
function typeText(of: Schema): string {
  const named = of.$ref?.split('/').at(-1);
  if (named === 'ErrorCode') return 'one of [the codes](errors.md)';
  if (named !== undefined) return `[${named}](#${named.toLowerCase()})`;
  if (of.anyOf) return [...new Set(of.anyOf.map(typeText))].join(' or ');
  if (of.enum) return of.enum.map((value) => `\`${String(value)}\``).join(' or ');
  if (of.const !== undefined) return `\`${String(of.const)}\``;
  if (of.type?.[0] === 'array') return `list of ${of.items ? typeText(of.items) : 'anything'}`;
  if (of.type?.[0] === 'object' && of.properties) return `{ ${bodyText(of)} }`;
  return of.format === 'date-time'
    ? 'time'
    : of.format === 'date'
      ? 'date'
      : (of.type?.join(' or ') ?? 'anything');
}
