export type ArrayCell = string | number | bigint | boolean | null;

/**
 * Formats a list as PostgreSQL's array input (https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO). The driver quotes every element,
 * including numbers, which costs it and the server several times as much; for large batches that is a tenth of the cost of booking.
 */
export function arrayLiteral(cells: readonly ArrayCell[]): string {
  let text = '{';
  // Many columns have the same value in all rows of a batch.
  let last: ArrayCell | undefined;
  let element = '';
  for (let index = 0; index < cells.length; index += 1) {
    if (index > 0) text += ',';
    const cell = cells[index] ?? null;
    if (cell !== last) element = elementOf(cell);
    last = cell;
    text += element;
  }
  return `${text}}`;
}

/** Matches ids, dates, times and most names. The array parser gives none of these characters a meaning. */
const PLAIN = /^[\w.:+-]+$/;

function elementOf(cell: ArrayCell): string {
  if (cell === null) return 'NULL';
  if (typeof cell !== 'string') return String(cell);
  if (PLAIN.test(cell) && !(cell.length === 4 && cell.toLowerCase() === 'null')) return cell;
  return `"${cell.replace(/["\\]/g, String.raw`\$&`)}"`;
}
