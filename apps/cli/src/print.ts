import { withoutHiddenMarks } from '@tollgate/contracts';

export type Cell = string | number | boolean | null | undefined;
export type OutputFormat = 'json' | 'table' | 'csv';

/** Formats a table for people: columns are as wide as their longest cell, and numbers are right-aligned. */
export function table(header: readonly string[], rows: readonly (readonly Cell[])[]): string {
  if (rows.length === 0) return 'Nothing.\n';
  const texts = rows.map((row) =>
    row.map((cell) => ({ text: printable(cell), isNumber: typeof cell === 'number' })),
  );
  const widths = header.map((name, column) =>
    Math.max(name.length, ...texts.map((row) => row[column]?.text.length ?? 0)),
  );
  const line = (cells: readonly { text: string; isNumber: boolean }[]): string =>
    cells
      .map(({ text, isNumber }, column) =>
        isNumber ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd();
  return `${[line(header.map((text) => ({ text: text.toUpperCase(), isNumber: false }))), ...texts.map(line)].join('\n')}\n`;
}

/**
 * Formats CSV by RFC 4180. A text that a spreadsheet would run as a formula gets a leading apostrophe; control characters of terminals become
 * replacement characters.
 */
export function csv(header: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cell = (value: Cell): string => {
    if (typeof value === 'number') return String(value);
    const text = withoutHiddenMarks(String(value ?? ''), '\ufffd');
    const inert = /^[=+\-@\t]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
  };
  return [header, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

/** Users choose names, so characters that would move the cursor or colour the terminal appear as `?`. */
function printable(cell: Cell): string {
  return cell === null || cell === undefined ? '-' : String(cell).replaceAll(/\p{C}/gu, '?');
}

/** Writes JSON with the same value for a parser; characters that would control the terminal become escapes. */
function json(answer: unknown): string {
  const escaped = JSON.stringify(answer, null, 2).replaceAll(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (mark) => String.raw`\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `${escaped}\n`;
}

/** Prints an answer as the server's JSON for scripts, or as `text` for people. */
export function show(isJson: boolean, answer: unknown, text: () => string): void {
  process.stdout.write(isJson ? json(answer) : text());
}

/** Writes any answer of the interface: a list as a table of its plain members, one object as lines of name and value. */
export function render(answer: unknown, format: OutputFormat, columns?: readonly string[]): string {
  if (answer === undefined || answer === '') return format === 'json' ? '' : 'Done.\n';
  if (typeof answer === 'string') return answer;
  if (format === 'json') return json(answer);
  const rows = listOf(answer);
  const write = format === 'csv' ? csv : table;
  if (rows === undefined)
    return write(
      ['field', 'value'],
      // The values of one object are not a column of numbers, so they are left-aligned.
      Object.entries(answer as object).map(([name, value]) => [
        name,
        typeof value === 'number' && format === 'table' ? String(value) : plain(value),
      ]),
    );
  const names = columns ?? columnsOf(rows);
  return write(
    names.map((name) => (format === 'csv' ? name : name.replaceAll('_', ' '))),
    rows.map((row) => names.map((name) => plain(row[name]))),
  );
}

function listOf(answer: unknown): Record<string, unknown>[] | undefined {
  const list = Array.isArray(answer) ? answer : (answer as { data?: unknown }).data;
  return Array.isArray(list) && list.every((row) => typeof row === 'object' && row !== null)
    ? (list as Record<string, unknown>[])
    : undefined;
}

function columnsOf(rows: readonly Record<string, unknown>[]): string[] {
  return [...new Set(rows.flatMap((row) => Object.keys(row)))];
}

function plain(value: unknown): Cell {
  if (typeof value === 'object' && value !== null) return JSON.stringify(value);
  return value as Cell;
}
