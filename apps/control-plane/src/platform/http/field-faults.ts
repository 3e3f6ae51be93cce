import type { z } from 'zod';

/** Lists the kinds of faults of one field with their messages. A name in braces is a parameter. Clients translate by code and parameters. */
export const FIELD_FAULTS = {
  required: 'is required',
  unknown_field: 'is not a known field',
  unknown_parameter: 'is not a known query parameter',
  unstorable: 'must be well-formed Unicode without NUL',
  too_short: 'must have at least {minimum} characters',
  too_long: 'must have at most {maximum} characters',
  too_few: 'must have at least {minimum} entries',
  too_many: 'must have at most {maximum} entries',
  too_small: 'must be at least {minimum}',
  not_above: 'must be greater than {minimum}',
  too_large: 'must be at most {maximum}',
  not_below: 'must be less than {maximum}',
  wrong_type: 'must be of type {expected}',
  wrong_format: 'must have the format {format}',
  not_one_of: 'must be one of {values}',
  /** The value breaks a rule that the API document states as `x-rules`; the message is the text of the rule. */
  rule: '',
  /** The value is the reason of the refusal, and the code of the refusal explains it. */
  refused: '',
} as const;
type WithText = Exclude<FieldFault, 'rule' | 'refused'>;

export type FieldFault = keyof typeof FIELD_FAULTS;
type Parameters = Readonly<Record<string, string | number>>;

/** Describes the fault of one field: a dotted path into the body or query, the kind of fault, its parameters, and the message in English. */
export interface FieldError {
  field: string;
  code: FieldFault;
  params: Parameters;
  message: string;
}

export function fieldError(field: string, code: WithText, params: Parameters = {}): FieldError {
  const message = FIELD_FAULTS[code].replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    String(params[name]),
  );
  return { field, code, params, message };
}

/** Returns the fault of a field that breaks a rule of `x-rules`. */
export function brokenRule(field: string, message: string): FieldError {
  return { field, code: 'rule', params: {}, message };
}

/** Returns the fault of the field that a refusal of another code concerns. */
export function refusedField(field: string, message: string): FieldError {
  return { field, code: 'refused', params: {}, message };
}

/** Returns zod's issue as the fault of one field. A message that a schema itself states is a rule. */
export function faultOf(field: string, issue: z.core.$ZodIssue): FieldError {
  switch (issue.code) {
    case 'too_small':
      return fieldError(field, lowerFault(issue), { minimum: Number(issue.minimum) });
    case 'too_big':
      return fieldError(field, upperFault(issue), { maximum: Number(issue.maximum) });
    case 'invalid_type':
      return fieldError(field, 'wrong_type', { expected: issue.expected });
    case 'invalid_value':
      return fieldError(field, 'not_one_of', { values: issue.values.map(String).join(', ') });
    case 'invalid_format':
      return issue.format === 'regex'
        ? brokenRule(field, issue.message)
        : fieldError(field, 'wrong_format', { format: issue.format });
    default:
      return brokenRule(field, issue.message);
  }
}

function lowerFault({ origin, inclusive }: z.core.$ZodIssueTooSmall): WithText {
  if (origin === 'string') return 'too_short';
  if (COUNTED.has(origin)) return 'too_few';
  return inclusive === false ? 'not_above' : 'too_small';
}

function upperFault({ origin, inclusive }: z.core.$ZodIssueTooBig): WithText {
  if (origin === 'string') return 'too_long';
  if (COUNTED.has(origin)) return 'too_many';
  return inclusive === false ? 'not_below' : 'too_large';
}

const COUNTED: ReadonlySet<string> = new Set(['array', 'set', 'map', 'object', 'record']);
