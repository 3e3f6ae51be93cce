import { brokenRule, refusedField, type FieldError } from './field-faults.ts';
import { REFUSALS, type RefusalCode } from './refusals.ts';

export interface RefusalContext {
  /** Is a sentence about this request, which the caller sees. */
  detail?: string;
  errors?: FieldError[];
  retryAfterSeconds?: number;
  /** Is the cause, for the operator's log only. */
  cause?: unknown;
}

/** Is thrown for an expected refusal. Any other error is a bug and becomes a 500. */
export class Refusal extends Error {
  readonly status: number;
  readonly title: string;

  constructor(
    readonly code: RefusalCode,
    readonly context: RefusalContext = {},
  ) {
    super(context.detail ?? REFUSALS[code].title, { cause: context.cause });
    this.status = REFUSALS[code].status;
    this.title = REFUSALS[code].title;
  }
}

/** Returns the usual refusal of one field. */
export function invalidField(field: string, message: string): Refusal {
  return new Refusal('invalid_request', {
    detail: `${field}: ${message}`,
    errors: [brokenRule(field, message)],
  });
}

/**
 * Returns the 404 of an id; `field` names the place in a body or query. The words are the same whether the record never existed, is deleted or
 * belongs to another account (security S24).
 */
export function noSuch(
  kind:
    | 'access token'
    | 'account'
    | 'budget'
    | 'credential'
    | 'key'
    | 'model'
    | 'node'
    | 'route'
    | 'subscription'
    | 'upstream',
  id: number,
  field?: string,
): Refusal {
  const detail = `There is no ${kind} ${id}`;
  return new Refusal('not_found', {
    detail,
    ...(field !== undefined && { errors: [refusedField(field, detail)] }),
  });
}
