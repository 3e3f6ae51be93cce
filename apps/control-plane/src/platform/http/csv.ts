import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import { withoutHiddenMarks } from '@tollgate/contracts';

export type CsvCell = string | number | bigint | boolean | Date | null | undefined;

const PIECE_CHARS = 65_536;

/** Streams rows as they come from the database, so that an export needs memory for one batch only. `fileName` has no extension. */
export function csvFile(
  fileName: string,
  header: string[],
  rows: AsyncIterable<CsvCell[]> | Iterable<CsvCell[]>,
): StreamableFile {
  return new StreamableFile(Readable.from(csvLines(header, rows)), {
    type: 'text/csv; charset=utf-8',
    disposition: `attachment; filename="${fileName}.csv"`,
  });
}

/** Yields pieces of many lines, because every piece is a write to the socket. */
async function* csvLines(
  header: string[],
  rows: AsyncIterable<CsvCell[]> | Iterable<CsvCell[]>,
): AsyncGenerator<string> {
  let piece = csvLine(header);
  for await (const row of rows) {
    piece += csvLine(row);
    if (piece.length < PIECE_CHARS) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}

export function csvLine(cells: CsvCell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/**
 * Quotes a cell by RFC 4180. A text that a spreadsheet would run as a formula gets a leading apostrophe (security S42), also where it begins with a
 * line feed or a full-width sign; numbers stay numbers. Marks that a terminal would obey become replacement characters.
 * https://owasp.org/www-community/attacks/CSV_Injection
 */
function csvCell(cell: CsvCell): string {
  if (cell === null || cell === undefined) return '';
  if (cell instanceof Date) return cell.toISOString();
  if (typeof cell !== 'string') return String(cell);
  const shown = withoutHiddenMarks(cell, '\ufffd');
  const isNumber = /^-?\d+(\.\d+)?$/.test(shown);
  const harmless = !isNumber && /^[=+\-@\t\n＝＋－＠]/.test(shown) ? `'${shown}` : shown;
  return /[",\r\n\t']/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
