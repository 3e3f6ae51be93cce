import { brokenRule, refusedField, type FieldError } from './field-faults.ts';
import { REFUSALS, type RefusalCode } from './refusals.ts';

export interface RefusalContext {
  /** Public: what about this request, in a sentence. */
  detail?: string;
  errors?: FieldError[];
  retryAfterSeconds?: number;
  /** For the operator's log only. */
  cause?: unknown;
}

/** An expected no. Anything else that is thrown is a bug and becomes a 500. */
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

/** The usual refusal of one field. */
export function invalidField(field: string, message: string): Refusal {
  return new Refusal('invalid_request', {
    detail: `${field}: ${message}`,
    errors: [brokenRule(field, message)],
  });
}

/** 404 of an id; `field` is where a body or query names it. The same words whether it never existed, is gone or is another account's (security S24). */
export function noSuch(
  kind:
    | 'access token'
    | 'account'
    | 'budget'
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
