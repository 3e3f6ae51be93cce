import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The checks of the house rules read below this folder. */
export const root = join(import.meta.dirname, '../..');

export const tracked = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard'],
  {
    cwd: root,
    encoding: 'utf8',
  },
)
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(root, file)));
export const sources = tracked.filter(
  (file) =>
    /\.(ts|tsx|mjs|cjs|lua)$/.test(file) &&
    !/tools\/check\/planted\/|\.spec\.ts$|__generated__\/|\/migrations\//.test(file),
);

export const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** Returns true for files that are shipped or run the repository; the others test and measure it. */
export const isProduct = (file: string): boolean =>
  /^((apps|libs)\/[^/]+|tools)\/src\//.test(file) && !/\/testing\/|-under-test\.ts$/.test(file);
