/** Holds what one check found. */
export interface Finding {
  name: string;
  promise: string;
  /** Is the number of compared things. */
  compared: number;
  /** Holds one line per violation; it is empty when the promise holds. */
  problems: string[];
  /** Is the reason why nothing can be said this time: neither held nor broken. */
  notJudged?: string;
}

type Verdict = 'held' | 'broken' | 'not judged';

/** Is the finding that names what was on its way while the others were looked for: its problems are none of the books. */
export const REST = 'at rest';

const PROBLEMS_SHOWN = 10;

/** Writes a table for people; under it, where exactly each broken promise broke, and why one was not judged. */
export function describeFindings(findings: readonly Finding[]): string {
  const rows = findings.map((finding) => [
    finding.name,
    finding.promise,
    finding.compared.toLocaleString('en'),
    describeVerdict(finding),
  ]);
  const header = ['check', 'promise', 'compared', 'result'];
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `  ${cells.map((cell, column) => (column === 2 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0))).join('  ')}`.trimEnd();
  const broken = findings.filter(({ problems }) => problems.length > 0);
  const details = broken.flatMap(({ name, problems }) => [
    '',
    `${name}:`,
    ...problems.slice(0, PROBLEMS_SHOWN).map((problem) => `  - ${problem}`),
    ...(problems.length > PROBLEMS_SHOWN
      ? [`  ... and ${problems.length - PROBLEMS_SHOWN} more`]
      : []),
  ]);
  const reasons = findings.flatMap((finding) =>
    verdictOf(finding) === 'not judged'
      ? ['', `${finding.name}: not judged, ${finding.notJudged}`]
      : [],
  );
  return [
    line(header),
    line(widths.map((width) => '-'.repeat(width))),
    ...rows.map(line),
    ...details,
    ...reasons,
  ].join('\n');
}

/** A broken promise is broken, also where it could not be judged whole. */
function verdictOf({ problems, notJudged }: Finding): Verdict {
  if (problems.length > 0) return 'broken';
  return notJudged === undefined ? 'held' : 'not judged';
}

/** Counts the promises by verdict. */
export function countVerdicts(findings: readonly Finding[]): string {
  const count = (verdict: ReturnType<typeof verdictOf>): number =>
    findings.filter((finding) => verdictOf(finding) === verdict).length;
  return `${count('held')} promises held, ${count('broken')} BROKE, ${count('not judged')} NOT JUDGED`;
}

function describeVerdict(finding: Finding): string {
  const broken = finding.name === REST ? 'NO' : `${finding.problems.length} WRONG`;
  return { held: 'ok', broken, 'not judged': 'NOT JUDGED' }[verdictOf(finding)];
}

/** No promise broke. */
export function isSound(findings: readonly Finding[]): boolean {
  return findings.every(({ problems }) => problems.length === 0);
}

/** Returns the summary of the books and the exit status that says it. */
export function concludeBooks(findings: readonly Finding[]): {
  says: string;
  exitStatus: 0 | 1 | 3;
} {
  if (!isSound(findings.filter(({ name }) => name !== REST)))
    return { says: 'THE BOOKS DO NOT CLOSE.', exitStatus: 1 };
  if (!isSound(findings))
    return {
      says: 'NOT JUDGED: the installation did not come to rest, so balances could not be compared. Everything else holds.\n  Fix: Run the audit again when no requests run.',
      exitStatus: 3,
    };
  return { says: 'The books close.', exitStatus: 0 };
}
