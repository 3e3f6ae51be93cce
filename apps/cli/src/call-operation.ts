import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { AdminRefusal, type AdminClient } from '@tollgate/admin-client';
import { UsageError } from './failure.ts';
import { kebab, type Field, type Operation } from './operations.ts';

/** Holds the typed values, under the interface's own names. */
export interface Typed {
  path: Readonly<Record<string, string>>;
  fields: Readonly<Record<string, string | boolean | undefined>>;
  /** Is the body as JSON, `@file` or `-` for standard input; separately typed fields replace its members. */
  body?: string | undefined;
  idempotencyKey?: string | undefined;
  format?: 'csv' | undefined;
}

/** Calls the operation. Returns parsed JSON, the text of a CSV, or undefined for an empty answer; throws AdminRefusal. */
export async function callOperation(
  client: AdminClient,
  operation: Operation,
  typed: Typed,
): Promise<unknown> {
  const body = bodyOf(operation, typed);
  const request = {
    params: {
      path: typed.path,
      query: {
        ...valuesOf(operation, 'query', typed.fields),
        ...(typed.format && { format: typed.format }),
      },
    },
    headers: operation.takesIdempotencyKey
      ? { 'Idempotency-Key': typed.idempotencyKey ?? randomUUID() }
      : {},
    ...(body !== undefined && { body }),
    ...(typed.format === 'csv' && { parseAs: 'text' }),
  };
  const { data } = await send(client, operation.method, operation.path, request);
  return data;
}

/** Sends a request whose method and path come from the API document, from which the client's types are generated. It throws AdminRefusal. */
export async function send(
  client: AdminClient,
  method: string,
  path: string,
  init: unknown,
): Promise<{ data: unknown; response: Response }> {
  const untyped = client.request as unknown as (
    method: string,
    path: string,
    init: unknown,
  ) => Promise<{ data?: unknown; error?: unknown; response: Response }>;
  const { data, error, response } = await untyped(method.toLowerCase(), path, init);
  if (!response.ok) throw new AdminRefusal(response.status, error);
  return { data, response };
}

function bodyOf(operation: Operation, { body, fields }: Typed): unknown {
  const own = valuesOf(operation, 'body', fields);
  if (body === undefined)
    return operation.body === 'required' || Object.keys(own).length > 0 ? own : undefined;
  const given = parseJson(readBody(body), '--body');
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new UsageError('--body must be a JSON object.');
  return { ...given, ...own };
}

function readBody(body: string): string {
  if (body === '-') return readFileSync(0, 'utf8');
  if (!body.startsWith('@')) return body;
  try {
    return readFileSync(body.slice(1), 'utf8');
  } catch (error) {
    throw new UsageError(`--body: ${(error as Error).message}`);
  }
}

function valuesOf(
  { fields }: Operation,
  place: Field['place'],
  typed: Typed['fields'],
): Record<string, unknown> {
  return Object.fromEntries(
    fields
      .filter((field) => field.place === place && typed[field.name] !== undefined)
      .map((field) => [field.name, parseValue(field, typed[field.name] ?? '')]),
  );
}

/** Converts a text of the command line to the interface's type. The interface itself validates the rest. */
export function parseValue(field: Field, typed: string | boolean): unknown {
  const option = `--${kebab(field.name)}`;
  if (typed === true) return field.kind === 'boolean' ? true : 'true';
  const text = String(typed);
  if (field.isNullable && text === 'null') return null;
  switch (field.kind) {
    case 'integer':
      if (!/^-?\d{1,15}$/.test(text)) throw new UsageError(`${option} must be a whole number.`);
      return Number(text);
    case 'number':
      if (text.trim() === '' || !Number.isFinite(Number(text)))
        throw new UsageError(`${option} must be a number.`);
      return Number(text);
    case 'boolean':
      if (text !== 'true' && text !== 'false')
        throw new UsageError(`${option} must be true or false.`);
      return text === 'true';
    case 'json':
      return parseJson(text, option);
    case 'string':
      return text;
  }
}

function parseJson(text: string, option: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${option} is not JSON: ${(error as Error).message}`);
  }
}
