import { z } from 'zod';
import { ROWS } from './named-tables.ts';
import { FIELD_FAULTS } from '../http/field-faults.ts';
import { REFUSALS, type RefusalCode } from '../http/refusals.ts';

/** Marks a schema that also accepts a missing value, until the route is described. */
export const OPTIONAL = 'x-optional';
/** Holds an example body in `.meta()`, for readers and for tests that are generated from the document. */
export const EXAMPLE = 'x-example';

type JsonSchema = Record<string, unknown>;

const converted = z.object({
  properties: z.object({ it: z.record(z.string(), z.unknown()) }),
  $defs: z.record(z.string(), z.record(z.string(), z.unknown())).default({}),
});

const PROBLEM_SCHEMA = {
  type: 'object',
  description: 'RFC 9457. `code` says which refusal it is; `errors` names the fields.',
  required: ['type', 'title', 'status', 'detail', 'code', 'errors', 'request_id'],
  properties: {
    type: { type: 'string', description: '`urn:tollgate:problem:<code>`' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { $ref: '#/components/schemas/ErrorCode' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['field', 'code', 'params', 'message'],
        properties: {
          field: { type: 'string' },
          code: { $ref: '#/components/schemas/FieldFault' },
          params: {
            type: 'object',
            additionalProperties: { anyOf: [{ type: 'string' }, { type: 'number' }] },
          },
          message: { type: 'string' },
        },
        additionalProperties: false,
      },
    },
    request_id: { type: 'string' },
  },
  additionalProperties: false,
} as const;

const ERROR_CODE_SCHEMA = {
  type: 'string',
  enum: Object.keys(REFUSALS),
  [ROWS]: Object.entries(REFUSALS).map(([name, { status }]) => ({ name, status })),
};

/** Collects the parts that routes share. zod schemas become JSON Schema 2020-12; a schema with `.meta({ id })` becomes a component that others refer to. */
export class DocumentBook {
  private readonly schemas = new Map<string, JsonSchema>();
  private readonly responses = new Map<string, JsonSchema>();

  /** Returns undefined for anything that is not a zod schema, which the framework then describes itself. */
  convert(schema: unknown, io: 'input' | 'output'): { schema: never } | undefined {
    if (!(schema instanceof z.ZodType)) return undefined;
    // The wrapper makes a named schema come out as a reference even when it is requested directly.
    const whole = z.toJSONSchema(z.object({ it: schema }), {
      target: 'draft-2020-12',
      io,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => {
        simplify(jsonSchema, io);
        stateRules(zodSchema, jsonSchema);
      },
    });
    const { properties, $defs } = converted.parse(
      JSON.parse(JSON.stringify(whole).replaceAll('"#/$defs/', '"#/components/schemas/')),
    );
    for (const [name, { id: _, ...definition }] of Object.entries($defs))
      this.schemas.set(name, definition);
    const isOptional = io === 'input' && schema.safeParse(undefined).success;
    return { schema: { ...properties.it, ...(isOptional && { [OPTIONAL]: true }) } as never };
  }

  /** Describes a refusal by one of `codes`, which share a status. */
  refusal(codes: readonly RefusalCode[]): { $ref: string } {
    const name = codes.join('.');
    const description = codes.map((code) => `\`${code}\`: ${REFUSALS[code].title}`).join('\n\n');
    this.responses.set(name, {
      description,
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      'x-codes': codes,
    });
    return { $ref: `#/components/responses/${name}` };
  }

  components(): { schemas: Record<string, never>; responses: Record<string, never> } {
    return {
      schemas: {
        ...sorted(this.schemas),
        ErrorCode: ERROR_CODE_SCHEMA as never,
        FieldFault: { type: 'string', enum: Object.keys(FIELD_FAULTS) } as never,
        Problem: PROBLEM_SCHEMA as never,
      },
      responses: sorted(this.responses),
    };
  }
}

function sorted(parts: ReadonlyMap<string, JsonSchema>): Record<string, never> {
  return Object.fromEntries(
    [...parts]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, part]) => [name, part as never]),
  );
}

const RULES = 'x-rules';

/** Writes rules that JSON Schema cannot express into the description, in the words of their refusals. */
function stateRules(zodSchema: z.core.$ZodType, schema: JsonSchema): void {
  const given = z.array(z.string()).default([]).parse(schema[RULES]);
  const rules = new Set([...given, ...rulesOf(zodSchema)]);
  if (rules.size > 0) schema[RULES] = [...rules];
}

/** Returns the rules of a schema and of the schemas that it wraps, because `.meta()` of an optional field hides those of the inner schema. */
function rulesOf(schema: z.core.$ZodType): string[] {
  if (!(schema instanceof z.ZodType)) return [];
  const stated = (schema.def.checks ?? []).flatMap((check) => {
    const message = check instanceof z.ZodCustom ? check.def.error?.({} as never) : undefined;
    return typeof message === 'string' ? [message] : [];
  });
  const given = z.array(z.string()).default([]).parse(schema.meta()?.[RULES]);
  return [
    ...given,
    ...stated,
    ...(schema instanceof z.ZodOptional ? rulesOf(schema.unwrap()) : []),
  ];
}

/** Removes what only repeats: the pattern behind a format and, in answers, the bounds of every JSON integer. */
function simplify(schema: JsonSchema, io: 'input' | 'output'): void {
  if (schema['format'] !== undefined) delete schema['pattern'];
  if (io === 'input') return;
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum'];
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum'];
}
