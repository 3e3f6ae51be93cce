/** Describes one change to one line of a Lua file. */
export interface Mutant {
  file: string;
  line: number;
  operator: string;
  before: string;
  after: string;
  /** Is the whole file, changed. */
  text: string;
}

/** Every place that a pattern is found becomes one mutant. Replacements are made once, so that no mutant undoes itself. */
const OPERATORS: readonly { name: string; pattern: RegExp; replacement: string }[] = [
  { name: '< to <=', pattern: / < /g, replacement: ' <= ' },
  { name: '<= to <', pattern: / <= /g, replacement: ' < ' },
  { name: '> to >=', pattern: / > /g, replacement: ' >= ' },
  { name: '>= to >', pattern: / >= /g, replacement: ' > ' },
  { name: '< to >', pattern: / < /g, replacement: ' > ' },
  { name: '== to ~=', pattern: / == /g, replacement: ' ~= ' },
  { name: '~= to ==', pattern: / ~= /g, replacement: ' == ' },
  { name: 'and to or', pattern: / and /g, replacement: ' or ' },
  { name: 'or to and', pattern: / or (?!')/g, replacement: ' and ' },
  { name: 'not dropped', pattern: /\bnot (?=\w)/g, replacement: '' },
  { name: '+ to -', pattern: / \+ /g, replacement: ' - ' },
  { name: '- to +', pattern: / - /g, replacement: ' + ' },
  { name: 'min to max', pattern: /math\.min/g, replacement: 'math.max' },
  { name: 'max to min', pattern: /math\.max/g, replacement: 'math.min' },
  { name: 'one more', pattern: /(?<=[ (,])([1-9]\d?)(?=[,) \n])/g, replacement: '($1 + 1)' },
  { name: 'another seq', pattern: /'0'(?=, (?:deltas|text|hold))/g, replacement: "'1'" },
];

/** Matches statements whose loss must be noticed. */
const STATEMENT =
  /^\s*(?:redis\.call\(|emit\(|write_\w+\(|sub\.\w+ = |seq, delta = |released = |live = |first = |total = |excess = |at = |if .* then return .* end$|if .* then (?:emit|redis\.call)\(.*end$)/;

export function mutantsOf(file: string, text: string): Mutant[] {
  const lines = text.split('\n');
  return lines.flatMap((before, index) => {
    if (/^\s*--/.test(before)) return [];
    const changes = OPERATORS.flatMap(({ name, pattern, replacement }) =>
      [...before.matchAll(pattern)].map((match) => ({
        operator: name,
        after: changed(before, match, replacement),
      })),
    );
    if (STATEMENT.test(before)) changes.push({ operator: 'statement dropped', after: '' });
    return changes.map(({ operator, after }) => ({
      file,
      line: index + 1,
      operator,
      before,
      after,
      text: lines.with(index, after).join('\n'),
    }));
  });
}

/** Returns the same order for the same seed. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  let state = seed >>> 0;
  const random = (): number => {
    // The generator is Mulberry32.
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return items
    .map((item) => ({ item, key: random() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

function changed(line: string, match: RegExpExecArray, replacement: string): string {
  return (
    line.slice(0, match.index) +
    replacement.replace('$1', match[1] ?? '') +
    line.slice(match.index + match[0].length)
  );
}
