import { expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const FOLDER = import.meta.dirname;
const files = [
  path.join(FOLDER, 'alert-sentences.ts'),
  ...readdirSync(path.join(FOLDER, 'zh')).map((name) => path.join(FOLDER, 'zh', name)),
];

test('Chinese sentences have full-width punctuation', () => {
  const halfWidth = files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => /\p{Script=Han}[,;:?!()]|[,;:()]\p{Script=Han}/u.test(line)),
  );
  expect(halfWidth).toEqual([]);
});
