import { Injectable, StandardSchemaValidationPipe, type ArgumentMetadata } from '@nestjs/common';
import { Refusal, type FieldError } from './refusal.ts';

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
  /** zod's list of unknown fields, which carries no path of its own. */
  readonly keys?: readonly string[];
}

const ERRORS_MAX = 50;

/** Bodies and queries are parsed by the zod schema given beside the parameter: `@Body({ schema })`. Parameters without one pass unparsed. */
@Injectable()
export class ValidationPipe extends StandardSchemaValidationPipe {
  constructor() {
    super({ transform: true, exceptionFactory: toRefusal });
  }

  override async transform<T>(value: T, metadata: ArgumentMetadata): Promise<T> {
    const field = findUnstorableText(value);
    if (field !== undefined) throw toRefusal([{ path: field, message: 'must be well-formed Unicode without NUL' }]);
    return super.transform(value, metadata);
  }
}

/** PostgreSQL stores neither NUL nor lone surrogates; refused here they are the caller's mistake, refused there they would be a 500. */
function findUnstorableText(value: unknown, path: string[] = []): string[] | undefined {
  if (typeof value === 'string') return value.includes('\0') || !value.isWellFormed() ? path : undefined;
  if (value === null || typeof value !== 'object') return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const found = findUnstorableText(name, [...path, '?']) ?? findUnstorableText(inner, [...path, name]);
    if (found) return found;
  }
  return undefined;
}

function toRefusal(issues: readonly Issue[]): Refusal {
  const errors = issues.flatMap(toFieldErrors).slice(0, ERRORS_MAX);
  const first = errors[0];
  return new Refusal('invalid_request', { errors, ...(first ? { detail: first.field ? `${first.field}: ${first.message}` : first.message } : {}) });
}

function toFieldErrors(issue: Issue): FieldError[] {
  const path = (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part));
  if (issue.keys) return issue.keys.map((key) => ({ field: [...path, key].join('.'), message: 'is not a known field' }));
  return [{ field: path.join('.'), message: issue.message }];
}
