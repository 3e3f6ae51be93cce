const SQL = /\b(?:SELECT|UPDATE|INSERT|DELETE)\b/;
const COMPARED = String.raw`[\w.]+ (?:=|<>|<|>|<=|>=|IS|IS NOT) (?:\$\d+|'[^']*'|[\w.]+)`;

const OPERATORS: readonly { name: string; pattern: RegExp; replacement: string }[] = [
  { name: 'lock removed', pattern: / FOR (?:NO KEY )?(?:UPDATE|SHARE)\b/g, replacement: '' },
  { name: 'SQL condition removed', pattern: new RegExp(` AND ${COMPARED}`, 'g'), replacement: '' },
  {
    name: 'SQL condition removed',
    pattern: new RegExp(` WHERE ${COMPARED}(?! AND)`, 'g'),
    replacement: '',
  },
  { name: 'SQL < to <=', pattern: / < /g, replacement: ' <= ' },
  { name: 'SQL <= to <', pattern: / <= /g, replacement: ' < ' },
  { name: 'SQL > to >=', pattern: / > /g, replacement: ' >= ' },
  { name: 'SQL >= to >', pattern: / >= /g, replacement: ' > ' },
  { name: 'SQL + to -', pattern: / \+ /g, replacement: ' - ' },
  { name: 'SQL - to +', pattern: / - /g, replacement: ' + ' },
  { name: 'SQL least to greatest', pattern: /\bleast\(/g, replacement: 'greatest(' },
  { name: 'SQL greatest to least', pattern: /\bgreatest\(/g, replacement: 'least(' },
  { name: 'SQL order turned', pattern: /(ORDER BY [\w.]+) DESC/g, replacement: '$1' },
  {
    name: 'SQL order turned',
    pattern: /(ORDER BY [\w.]+)(?! DESC)\b(?![\w.])/g,
    replacement: '$1 DESC',
  },
];

/** Returns each place of a statement where an operator applies, as the whole statement with that place changed. Words of other texts are left alone. */
export function sqlChanges(text: string): [operator: string, text: string][] {
  if (!SQL.test(text)) return [];
  return OPERATORS.flatMap(({ name, pattern, replacement }) =>
    [...text.matchAll(pattern)].map((match): [string, string] => [
      name,
      text.slice(0, match.index) +
        replacement.replace('$1', match[1] ?? '') +
        text.slice(match.index + match[0].length),
    ]),
  );
}
