import type { ArrayCell } from './array-literal.ts';

const SPECIAL = /[\\\t\n\r]/;
const ESCAPES: Readonly<Record<string, string>> = {
  '\\': String.raw`\\`,
  '\t': String.raw`\t`,
  '\n': String.raw`\n`,
  '\r': String.raw`\r`,
};

/**
 * Formats one column of a row in COPY's text format, which separates columns by tabs and rows by line feeds
 * (https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.2).
 */
export function copyCell(cell: ArrayCell): string {
  if (cell === null) return String.raw`\N`;
  if (typeof cell !== 'string') return String(cell);
  return SPECIAL.test(cell)
    ? cell.replaceAll(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? character)
    : cell;
}
