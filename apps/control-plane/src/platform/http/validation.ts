import { Injectable, StandardSchemaValidationPipe, type ArgumentMetadata } from '@nestjs/common';
import type { z } from 'zod';
import { faultOf, fieldError, type FieldError } from './field-faults.ts';
import { Refusal } from './refusal.ts';

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
  /** Is zod's list of unknown fields, which carries no path of its own. */
  readonly keys?: readonly string[];
  /** Is zod's kind of issue; `custom` is one of our rules. */
  readonly code?: string;
}

const ERRORS_MAX = 50;

/** Parses bodies and queries with the zod schema beside the parameter: `@Body({ schema })`. Parameters without a schema pass unparsed. */
@Injectable()
export class ValidationPipe extends StandardSchemaValidationPipe {
  override async transform<T>(value: T, metadata: ArgumentMetadata): Promise<T> {
    const unknown = metadata.type === 'query' ? 'unknown_parameter' : 'unknown_field';
    const field = findUnstorableText(value);
    if (field !== undefined) throw toRefusal([fieldError(field.join('.'), 'unstorable')]);
    const { schema } = metadata;
    if (!schema || !this.toValidate(metadata)) return value;
    this.stripProtoKeys(value);
    const result = await this.validate<T>(value, schema);
    if (result.issues)
      throw toRefusal(result.issues.flatMap((issue) => toFieldErrors(issue, { value, unknown })));
    return result.value;
  }
}

/** Finds text that PostgreSQL cannot store: NUL and lone surrogates. The caller gets a 400 here; without the check the database's error would become a 500. */
function findUnstorableText(value: unknown, path: string[] = []): string[] | undefined {
  if (typeof value === 'string')
    return value.includes('\0') || !value.isWellFormed() ? path : undefined;
  if (value === null || typeof value !== 'object') return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const found =
      findUnstorableText(name, [...path, '?']) ?? findUnstorableText(inner, [...path, name]);
    if (found) return found;
  }
  return undefined;
}

function toRefusal(found: readonly FieldError[]): Refusal {
  const errors = found.slice(0, ERRORS_MAX);
  const first = errors[0];
  return new Refusal('invalid_request', {
    errors,
    ...(first ? { detail: first.field ? `${first.field}: ${first.message}` : first.message } : {}),
  });
}

function toFieldErrors(
  issue: Issue,
  { value, unknown }: { value: unknown; unknown: 'unknown_field' | 'unknown_parameter' },
): FieldError[] {
  const path = (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part));
  if (issue.keys) return issue.keys.map((key) => fieldError([...path, key].join('.'), unknown));
  const isMissing =
    issue.code !== 'custom' &&
    path.length > 0 &&
    path.reduce<unknown>((inner, name) => Object(inner)[name], value) === undefined;
  const field = path.join('.');
  return [isMissing ? fieldError(field, 'required') : faultOf(field, issue as z.core.$ZodIssue)];
}
