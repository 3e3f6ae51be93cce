/** Reads rows out of the text format of COPY, as `copyCell` of the control plane writes it. */
export function readCopied(text: string): (string | null)[][] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('\t').map(readCell));
}

function readCell(cell: string): string | null {
  if (cell === String.raw`\N`) return null;
  return cell.replaceAll(/\\(.)/gs, (_, escaped: string) => ESCAPED[escaped] ?? escaped);
}

const ESCAPED: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };
