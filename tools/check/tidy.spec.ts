import { expect, test } from '@jest/globals';
import { isProduct, read, sources, tracked } from './tracked-files.ts';

/** These are house rules that no linter knows. Each test names the rule it keeps. */
const FILE_LINES_MAX = 300;

const isTooLong = (text: string): boolean =>
  text.replace(/\n$/, '').split('\n').length > FILE_LINES_MAX;

test('no file is longer than 300 lines', () => {
  const isSpecOrMigration = (file: string): boolean => /\.spec\.ts$|\/migrations\//.test(file);
  const files = new Set([...sources, ...tracked.filter(isSpecOrMigration)]);
  expect([...files].filter((file) => isTooLong(read(file)))).toEqual([]);
  expect(files.size).toBeGreaterThan(1_500);
  // The longest file that passes is planted, and one more line.
  expect(isTooLong('line\n'.repeat(300))).toBe(false);
  expect(isTooLong('line\n'.repeat(301))).toBe(true);
});

/** A class that takes more is two services, or a part of one. */
const CONSTRUCTOR_PARAMETERS_MAX = 8;

/** Counts the parameters of each constructor of this text. */
function constructorParameters(text: string): number[] {
  return [...text.matchAll(/\bconstructor\(/g)].map(({ index, 0: { length } }) => {
    let depth = 1;
    let commas = 0;
    let parameter = '';
    for (let at = index + length; depth > 0 && at < text.length; at += 1) {
      const sign = text.charAt(at);
      if ('([{<'.includes(sign)) depth += 1;
      // The arrow of a function type closes nothing.
      if (')]}'.includes(sign) || (sign === '>' && text.charAt(at - 1) !== '=')) depth -= 1;
      const isBetween = sign === ',' && depth === 1;
      if (isBetween) commas += 1;
      if (depth > 0) parameter = isBetween ? '' : parameter + sign;
    }
    return parameter.trim() === '' ? commas : commas + 1;
  });
}

test('no constructor of the product takes more than eight parameters', () => {
  const many = sources.filter(
    (file) =>
      isProduct(file) &&
      constructorParameters(read(file)).some((count) => count > CONSTRUCTOR_PARAMETERS_MAX),
  );
  expect(many).toEqual([]);
  const planted = `constructor(
    @Inject(A) private readonly a: Map<string, number>, b: { c: C; d: D }, c: (x: X, y: Y) => void,
    d: D, e: E, f: F, g: G, h: H, i = new I(),
  ) {} constructor() {}`;
  expect(constructorParameters(planted)).toEqual([9, 0]);
});

test('no file is named after nothing', () => {
  expect(
    tracked.filter((file) =>
      /\/(utils?|helpers?|commons?|misc|types)\.(ts|tsx|mjs|js)$/.test(file),
    ),
  ).toEqual([]);
});

test('file names are kebab-case', () => {
  const odd = sources.filter(
    (file) => !/^[a-z0-9.-]+$/.test(file.slice(file.lastIndexOf('/') + 1)),
  );
  expect(odd).toEqual([]);
});

test('index.ts is a front door of a package, nothing else', () => {
  const inner = sources.filter(
    (file) =>
      /(^|\/)index\.ts$/.test(file) &&
      !/^((libs|apps|tests)\/[^/]+|tools)\/src\/index\.ts$/.test(file),
  );
  expect(inner).toEqual([]);
});

test('nothing is left undone in the code', () => {
  const marks = new RegExp(
    [
      'TO' + 'DO',
      'FIX' + 'ME',
      'not imple' + 'mented',
      '@ts-ig' + 'nore',
      '@ts-expect-' + 'error',
    ].join('|'),
  );
  expect(sources.filter((file) => marks.test(read(file)))).toEqual([]);
});

/** pino serialises `err`; under another name an error is logged as `{}`. */
const ERROR_FIELD = /\blog\.(trace|debug|info|warn|error|fatal)\(\s*\{[^{}]*\berror\b\s*[,:}]/i;
const logsErrorField = (text: string): boolean =>
  ERROR_FIELD.test(text.replaceAll(/\berr: error\b/g, 'err'));

test('an error is logged as err', () => {
  expect(sources.filter((file) => isProduct(file) && logsErrorField(read(file)))).toEqual([]);
  for (const planted of [
    "log.warn({ error, rid }, 'x')",
    "this.#log.error(\n  { rid, error },\n  'x')",
    "options.log.info({ error: cause }, 'x')",
  ])
    expect(logsErrorField(planted)).toBe(true);
  expect(logsErrorField("log.warn({ err: error, rid }, 'the error')")).toBe(false);
});

test('no test is skipped for good or alone for long', () => {
  const specs = tracked.filter((file) => file.endsWith('.spec.ts') && !file.includes('tidy.spec'));
  expect(
    specs.filter((file) => /\b(test|describe|it)\.only\(|\bx(test|it|describe)\(/.test(read(file))),
  ).toEqual([]);
});

/** Returns the full name of each test of a spec: the titles around it and its own, without what `each` fills in. */
function testNames(text: string): string[] {
  const titles = [
    ...text.matchAll(
      /^( *)(test|describe|[\])}].*\)|.*\.each.*\))\(\s*(['"`])((?:\\.|(?!\3)[^\n])*)\3,/gm,
    ),
  ].map(([, indent = '', call = '', , title = '']) => ({ depth: indent.length, call, title }));
  const around: typeof titles = [];
  return titles.flatMap((own, at) => {
    while (around.length > 0 && (around.at(-1)?.depth ?? 0) >= own.depth) around.pop();
    around.push(own);
    const isSuite = own.call === 'describe' || (titles[at + 1]?.depth ?? 0) > own.depth;
    return isSuite ? [] : [around.map(({ title }) => title.replace(/[%$]\w+/g, '')).join(' ')];
  });
}

const isFragment = (name: string): boolean => (name.match(/[^\s?:]+/g) ?? []).length < 4;

test('the name of a test is a promise, not a fragment of fewer than four words', () => {
  const specs = tracked.filter((file) => file.endsWith('.spec.ts') && !file.includes('/planted/'));
  const names = specs.flatMap((file) =>
    testNames(read(file)).map((name): [string, string] => [file, name]),
  );
  expect(names.filter(([, name]) => isFragment(name))).toEqual([]);
  expect(names.length).toBeGreaterThan(1_900);
  const planted = `describe('keys', () => {\n  test.each([\n    1,\n  ])('refuses %j', () => {});\n  test('are listed newest first', () => {});\n});\n`;
  expect(testNames(planted).map(isFragment)).toEqual([true, false]);
});

test('the repository names no registry host and no path of a machine', () => {
  const text = tracked.filter(
    (file) => !/\.(png|svg|ico)$/.test(file) && !file.includes('tidy.spec'),
  );
  const hosts = new RegExp(
    ['registry\\.npm' + 'js\\.org', '/work/' + '(main|shared)', '/ro' + 'ot/'].join('|'),
  );
  expect(text.filter((file) => hosts.test(read(file)))).toEqual([]);
});
