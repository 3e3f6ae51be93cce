import { StandardSchemaValidationPipe } from '@nestjs/common';
import { Refusal, type FieldError } from './refusal.ts';

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
  /** zod's list of unknown fields, which carries no path of its own. */
  readonly keys?: readonly string[];
}

const ERRORS_MAX = 50;

/** Bodies and queries are parsed by the zod schema given beside the parameter: `@Body({ schema })`. Parameters without one pass unparsed. */
export function validationPipe(): StandardSchemaValidationPipe {
  return new StandardSchemaValidationPipe({ transform: true, exceptionFactory: (issues) => toRefusal(issues) });
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
