import { isRecord, list, type JsonRecord } from '../json/json-guard.ts';

/** Names the members that hold a schema, a list of them, or one by each name. */
const ONE = new Set(['items', 'additionalProperties', 'not']);
const SEVERAL = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const BY_NAME = new Set(['properties', '$defs', 'defs']);
/** Names members that JSON Schema does not have. */
const OWN = new Set(['propertyOrdering', 'nullable', 'example']);

/** Converts a schema of Gemini, a subset of OpenAPI's, to JSON Schema: types are upper-case words, and `nullable` is beside them. https://ai.google.dev/api/caching#Schema */
export function jsonSchemaOf(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  const members = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    const name = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    return OWN.has(name) ? [] : [[name, memberOf(name, value)]];
  });
  const read: JsonRecord = Object.fromEntries(members);
  if (schema['nullable'] !== true || typeof read['type'] !== 'string') return read;
  return {
    ...read,
    type: [read['type'], 'null'],
    ...(Array.isArray(read['enum']) ? { enum: [...list(read['enum']), null] } : {}),
  };
}

function memberOf(name: string, value: unknown): unknown {
  if (name === 'type' && typeof value === 'string') return value.toLowerCase();
  if (name === 'format' && value === 'enum') return undefined;
  if (ONE.has(name)) return jsonSchemaOf(value);
  if (SEVERAL.has(name)) return list(value).map(jsonSchemaOf);
  if (BY_NAME.has(name) && isRecord(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, schema]) => [key, jsonSchemaOf(schema)]),
    );
  // Integers of 64 bits are texts in its JSON.
  if (/^(?:min|max)[A-Z]/.test(name) && typeof value === 'string') return Number(value);
  return value;
}
