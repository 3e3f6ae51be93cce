import { writeFileSync } from 'node:fs';

/** What clients saw of one fault under one policy, over both protocols, JSON and stream. */
export interface Outcome {
  readonly fault: string;
  readonly policy: string;
  readonly saved: number;
  readonly asked: number;
  /** What clients saw that were not saved. */
  readonly otherwise: readonly string[];
  readonly firstByteMs: readonly number[];
}

const POLICIES = ['default', 'safe'] as const;

/** One line a fault: how many requests were saved, what the others saw, and when the first byte came. */
function describeOutcomes(outcomes: readonly Outcome[]): string {
  const faults = [...new Set(outcomes.map(({ fault }) => fault))];
  const lines = faults.map((fault) => {
    const cells = POLICIES.map((policy) =>
      cellOf(outcomes.find((each) => each.fault === fault && each.policy === policy)),
    );
    const times = outcomes.filter((each) => each.fault === fault && each.policy === 'default');
    return `| ${fault} | ${cells.join(' | ')} | ${median(times.flatMap((each) => each.firstByteMs))} ms |`;
  });
  const saved = (policy: string): string => {
    const of = outcomes.filter((each) => each.policy === policy);
    const whole = of.filter((each) => each.saved === each.asked).length;
    return `${policy}: ${whole} of ${of.length} faults, ${sum(of, 'saved')} of ${sum(of, 'asked')} requests saved`;
  };
  return [
    '| Fault of the first upstream | default | `replay: safe` | First byte (default) |',
    '| --- | --- | --- | --- |',
    ...lines,
    '',
    ...POLICIES.map(saved),
  ].join('\n');
}

/** For `npm run test:failover`, which names the file. */
export function writeReport(outcomes: readonly Outcome[]): void {
  const file = process.env['TOLLGATE_FAILOVER_REPORT'];
  if (file) writeFileSync(file, describeOutcomes(outcomes));
}

function cellOf(outcome: Outcome | undefined): string {
  if (!outcome) return '';
  const { saved, asked, otherwise } = outcome;
  if (saved === asked) return 'answered';
  const seen = [...new Set(otherwise)].toSorted().join(', ');
  return saved === 0 ? seen : `${saved} of ${asked} answered, else ${seen}`;
}

function sum(outcomes: readonly Outcome[], field: 'saved' | 'asked'): number {
  return outcomes.reduce((total, outcome) => total + outcome[field], 0);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
