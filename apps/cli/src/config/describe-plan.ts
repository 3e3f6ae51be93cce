import { withoutHiddenMarks } from '@tollgate/contracts';
import { SECRET_FIELDS } from './secret-references.ts';
import type { Action, Difference, Plan, Step } from './step.ts';

const MARKS: Readonly<Record<Action, string>> = { add: '+', change: '~', remove: '-' };

/** Formats the plan for people: one line for each change, with its fields below it. */
export function describePlan({ steps, unmanaged }: Plan): string {
  const lines = [
    ...steps.flatMap((step) => [headOf(step), ...step.differences.map(describeDifference)]),
    ...unmanaged.map((name) => `? ${name}`),
    summaryOf(steps, unmanaged),
  ];
  return `${lines.map((line) => withoutHiddenMarks(line, '?')).join('\n')}\n`;
}

export function headOf({ action, kind, name }: Step): string {
  return `${MARKS[action]} ${kind === name ? kind : `${kind} ${name}`}`;
}

function summaryOf(steps: readonly Step[], unmanaged: readonly string[]): string {
  const count = (action: Action): number => steps.filter((step) => step.action === action).length;
  const changes =
    steps.length === 0
      ? 'Nothing differs'
      : `${count('add')} to add, ${count('change')} to change, ${count('remove')} to remove`;
  return unmanaged.length === 0
    ? `${changes}.`
    : `${changes}; ${unmanaged.length} not in the file (?), which stay.`;
}

function describeDifference({ field, from, to }: Difference): string {
  const text = SECRET_FIELDS.has(field) ? describeSecret(to) : valueText(to);
  return from === undefined
    ? `    ${field}: ${text}`
    : `    ${field}: ${valueText(from)} -> ${text}`;
}

/** A reference is not a secret; it shows the source of the secret. */
function describeSecret(value: unknown): string {
  return value === null ? 'none' : `secret ${valueText(value)}`;
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
