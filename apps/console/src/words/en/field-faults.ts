import type { AdminRefusal } from '@tollgate/admin-client';

type Fault = Exclude<AdminRefusal['fields'][number]['code'], 'rule' | 'refused'>;
export type FaultParams = Readonly<Record<string, string>>;

/** Holds the words of each kind of fault of a field, by the code of the server. */
const faults: Record<Fault, (params: FaultParams) => string> = {
  required: () => 'Needed',
  unknown_field: () => 'The server does not know this field',
  unknown_parameter: () => 'The server does not know this parameter',
  unstorable: () => 'Contains characters that cannot be stored',
  too_short: ({ minimum }) => `At least ${minimum} characters`,
  too_long: ({ maximum }) => `At most ${maximum} characters`,
  too_few: ({ minimum }) => `At least ${minimum} entries`,
  too_many: ({ maximum }) => `At most ${maximum} entries`,
  too_small: ({ minimum }) => `At least ${minimum}`,
  not_above: ({ minimum }) => `More than ${minimum}`,
  too_large: ({ maximum }) => `At most ${maximum}`,
  not_below: ({ maximum }) => `Less than ${maximum}`,
  wrong_type: () => 'Not the right kind of value',
  wrong_format: () => 'Not in the right format',
  not_one_of: ({ values }) => `One of ${values}`,
};

/** `rule` takes the server's text of a broken rule, which English shows as it is. */
export const fieldFaults = { faults, rule: (text: string): string => text };
