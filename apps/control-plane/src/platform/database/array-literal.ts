export type ArrayCell = string | number | bigint | boolean | null;

/**
 * A list as PostgreSQL's array input (https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO). The driver quotes every element, numbers too,
 * which takes it and the server several times as long: for batches of many columns and rows that is a tenth of what booking costs.
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

/** Matches ids, dates, times and most names: nothing in them means anything to the array parser. */
const PLAIN = /^[\w.:+-]+$/;

function elementOf(cell: ArrayCell): string {
  if (cell === null) return 'NULL';
  if (typeof cell !== 'string') return String(cell);
  if (PLAIN.test(cell) && !(cell.length === 4 && cell.toLowerCase() === 'null')) return cell;
  return `"${cell.replace(/["\\]/g, String.raw`\$&`)}"`;
}
