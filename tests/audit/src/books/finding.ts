/** What one check found. */
export interface Finding {
  name: string;
  promise: string;
  /** How many things were compared. */
  compared: number;
  /** One line per violation; empty = the promise holds. */
  problems: string[];
}

const PROBLEMS_SHOWN = 10;

/** A table for people; under it, where exactly each broken promise broke. */
export function describeFindings(findings: readonly Finding[]): string {
  const rows = findings.map(({ name, promise, compared, problems }) => [name, promise, compared.toLocaleString('en'), problems.length === 0 ? 'ok' : `${problems.length} WRONG`]);
  const header = ['check', 'promise', 'compared', 'result'];
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string => `  ${cells.map((cell, column) => (column === 2 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0))).join('  ')}`.trimEnd();
  const broken = findings.filter(({ problems }) => problems.length > 0);
  const details = broken.flatMap(({ name, problems }) => [
    '',
    `${name}:`,
    ...problems.slice(0, PROBLEMS_SHOWN).map((problem) => `  - ${problem}`),
    ...(problems.length > PROBLEMS_SHOWN ? [`  ... and ${problems.length - PROBLEMS_SHOWN} more`] : []),
  ]);
  return [line(header), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line), ...details].join('\n');
}

export function isSound(findings: readonly Finding[]): boolean {
  return findings.every(({ problems }) => problems.length === 0);
}
