type Cell = string | number | boolean | null | undefined;

/** For people: columns as wide as their longest cell; numbers to the right. */
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

/** Names come from users: what would move the cursor or colour the terminal is shown as `?`. */
function printable(cell: Cell): string {
  return cell === null || cell === undefined ? '-' : String(cell).replaceAll(/\p{C}/gu, '?');
}

/** One answer for both readers: JSON as the server sent it for scripts, `text` for people. */
export function show(isJson: boolean, answer: unknown, text: () => string): void {
  process.stdout.write(isJson ? `${JSON.stringify(answer, null, 2)}\n` : text());
}
