import type { JsonRecord } from '../json/json-guard.ts';

interface LimitFields {
  /** Every field that may carry the limit. */
  fields: readonly string[];
  /** Where the limit goes when the client gave none. */
  fallback: string;
}

/** Writes the granted output limit: into the fallback when the client gave none, else over each field that asks for more (S26: both may be set). */
export function limitEdits(
  body: JsonRecord,
  limit: number | null,
  { fields, fallback }: LimitFields,
): Record<string, string> {
  if (limit === null) return {};
  const given = fields.filter((field) => typeof body[field] === 'number');
  if (given.length === 0) return { [fallback]: String(limit) };
  return Object.fromEntries(
    given.filter((field) => Number(body[field]) > limit).map((field) => [field, String(limit)]),
  );
}
