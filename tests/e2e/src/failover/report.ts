import { writeFileSync } from 'node:fs';

/** Holds what clients saw of one fault under one policy, over both protocols, JSON and stream. */
export interface Outcome {
  readonly fault: string;
  readonly policy: string;
  readonly saved: number;
  readonly asked: number;
  /** Holds what clients saw that were not saved. */
  readonly otherwise: readonly string[];
  readonly firstByteMs: readonly number[];
}

const FAULTS_HEAD = [
  'Fault of the first upstream',
  'default',
  '`replay: safe`',
  'First byte (default)',
];
const BREAKS_HEAD = ['Break in the middle of a stream', 'default', '`continues: true`'];

/** Writes one line a fault: how many requests were saved, what the others saw, and when the first byte came. */
function tableOf(
  outcomes: readonly Outcome[],
  {
    head,
    policies,
    hasTimes,
  }: { head: readonly string[]; policies: readonly string[]; hasTimes: boolean },
): string[] {
  const faults = [...new Set(outcomes.map(({ fault }) => fault))];
  const lines = faults.map((fault) => {
    const cells = policies.map((policy) =>
      cellOf(outcomes.find((each) => each.fault === fault && each.policy === policy)),
    );
    const times = outcomes.filter((each) => each.fault === fault && each.policy === 'default');
    const time = `${median(times.flatMap((each) => each.firstByteMs))} ms`;
    return `| ${[fault, ...cells, ...(hasTimes ? [time] : [])].join(' | ')} |`;
  });
  const saved = (policy: string): string => {
    const of = outcomes.filter((each) => each.policy === policy);
    const whole = of.filter((each) => each.saved === each.asked).length;
    return `${policy}: ${whole} of ${of.length} faults, ${sum(of, 'saved')} of ${sum(of, 'asked')} requests saved`;
  };
  const rule = head.map(() => '---');
  return [head, rule].map((row) => `| ${row.join(' | ')} |`).concat(lines, '', policies.map(saved));
}

/** Writes the report of `npm run test:failover`, which names the file. */
export function writeReport(faults: readonly Outcome[], breaks: readonly Outcome[]): void {
  const file = process.env['TOLLGATE_FAILOVER_REPORT'];
  if (!file) return;
  const tables = [
    tableOf(faults, { head: FAULTS_HEAD, policies: ['default', 'safe'], hasTimes: true }),
    tableOf(breaks, { head: BREAKS_HEAD, policies: ['default', 'continues'], hasTimes: false }),
  ];
  writeFileSync(file, tables.map((lines) => lines.join('\n')).join('\n\n'));
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
