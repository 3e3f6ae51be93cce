import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';

export type CsvCell = string | number | bigint | boolean | Date | null | undefined;

/** Streams rows as they come from the database, so an export costs memory for one batch only. `fileName` without the extension. */
export function csvFile(fileName: string, header: string[], rows: AsyncIterable<CsvCell[]>): StreamableFile {
  return new StreamableFile(Readable.from(csvLines(header, rows)), { type: 'text/csv; charset=utf-8', disposition: `attachment; filename="${fileName}.csv"` });
}

async function* csvLines(header: string[], rows: AsyncIterable<CsvCell[]>): AsyncGenerator<string> {
  yield csvLine(header);
  for await (const row of rows) yield csvLine(row);
}

export function csvLine(cells: CsvCell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/**
 * RFC 4180 quoting. A text that a spreadsheet would run as a formula gets an apostrophe in front (security S42); numbers stay numbers.
 * https://owasp.org/www-community/attacks/CSV_Injection
 */
function csvCell(cell: CsvCell): string {
  if (cell === null || cell === undefined) return '';
  if (cell instanceof Date) return cell.toISOString();
  if (typeof cell !== 'string') return String(cell);
  const isNumber = /^-?\d+(\.\d+)?$/.test(cell);
  const harmless = !isNumber && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n\t']/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
