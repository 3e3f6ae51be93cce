import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { readLibraryPaths, REPLACEMENTS } from './library-paths.ts';

test('LIBRARY_PATHS names replacements between commas, or all of them', () => {
  expect([...readLibraryPaths(undefined)]).toEqual([]);
  expect([...readLibraryPaths('hmac,live_map')]).toEqual(['hmac', 'live_map']);
  expect([...readLibraryPaths('all')]).toEqual([...REPLACEMENTS]);
});

test('an unknown replacement is refused by its name', () => {
  expect(() => readLibraryPaths('hmac,lane')).toThrow('LIBRARY_PATHS: lane is none of all, ');
});

test('the page of replacements has a line for each switch', () => {
  const page = readFileSync(
    path.join(import.meta.dirname, '../../../docs/design/library-replacements.md'),
    'utf8',
  );
  expect(REPLACEMENTS.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
