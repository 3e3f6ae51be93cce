/** Reads a list out of PostgreSQL's array input, as `arrayLiteral` of the control plane writes it. */
export function readArray(text: string): (string | null)[] {
  const cells: (string | null)[] = [];
  const element = /"((?:[^"\\]|\\.)*)"|([^,{}]+)/gs;
  for (const [, quoted, plain] of text.slice(1, -1).matchAll(element))
    cells.push(quoted?.replaceAll(/\\(.)/gs, '$1') ?? (plain === 'NULL' ? null : (plain ?? null)));
  return cells;
}
