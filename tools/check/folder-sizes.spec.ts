import { expect, test } from '@jest/globals';
import path from 'node:path';
import { isProduct, tracked } from './tracked-files.ts';

const FILES_MAX = 25;

/** Returns the folders with too many product files directly in them, and how many those are. */
function crowdedFolders(files: readonly string[]): [folder: string, count: number][] {
  const product = files.filter(
    (file) => isProduct(file) && /\.tsx?$/.test(file) && !/\.spec\.tsx?$/.test(file),
  );
  return [...Map.groupBy(product, (file) => path.dirname(file))].flatMap(([folder, inside]) =>
    inside.length > FILES_MAX ? [[folder, inside.length]] : [],
  );
}

test('a folder has at most 25 product files directly in it', () => {
  expect(crowdedFolders(tracked)).toEqual([]);
});

test('a planted folder of 26 product files is found, and none of specs, of tests or of subfolders', () => {
  const of = (count: number, name: (at: number) => string): string[] =>
    Array.from({ length: count }, (_, at) => `apps/planted/src/room/${name(at)}`);
  expect(crowdedFolders(of(26, (at) => `a${at}.ts`))).toEqual([['apps/planted/src/room', 26]]);
  expect(crowdedFolders(of(26, (at) => `a${at}.tsx`))).toHaveLength(1);
  expect(
    crowdedFolders([
      ...of(25, (at) => `a${at}.ts`),
      ...of(9, (at) => `a${at}.spec.ts`),
      ...of(9, (at) => `a${at}-under-test.ts`),
      ...of(9, (at) => `deep/a${at}.ts`),
    ]),
  ).toEqual([]);
});
