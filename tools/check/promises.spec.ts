import { expect, test } from '@jest/globals';
import { read, tracked } from './tracked-files.ts';

/** Returns the numbers of the promises in `docs/security.md`. */
const promised = (page: string): string[] =>
  [...page.matchAll(/^\| (S\d+[a-z]?) \|/gm)].map(([, number = '']) => number);

/** Returns the numbers in the names of tests: `S14: ...`, `... (S14)`, several with commas. */
const named = (spec: string): string[] =>
  [...spec.matchAll(/(?<=['"(`]|, |and )S\d+[a-z]?(?=[:),]| and)/g)].map(([number]) => number);

/** Returns the promises that no test has in its name, and the numbers in names that promise nothing. */
function unkept(page: string, specs: readonly string[]): string[] {
  const [promises, numbers] = [promised(page), [...new Set(specs.flatMap(named))]];
  return [
    ...promises.filter((one) => !numbers.includes(one)),
    ...numbers.filter((one) => !promises.includes(one)),
  ];
}

test('each promise of docs/security.md has a test that names it, and each number in a name is one', () => {
  const specs = tracked.filter(
    (file) => file.endsWith('.spec.ts') && !file.endsWith('promises.spec.ts'),
  );
  const page = read('docs/security.md');
  expect(promised(page).length).toBeGreaterThan(60);
  expect(unkept(page, specs.map(read))).toEqual([]);
});

test('a planted promise without a test and a planted number without a promise are found', () => {
  const page = '| S1 | a | |\n| S2 | b | |\n';
  expect(unkept(page, ["test('S1: a')", "test('b (S2)')"])).toEqual([]);
  expect(unkept(page, ["test('S1, S3: a')"])).toEqual(['S2', 'S3']);
});
