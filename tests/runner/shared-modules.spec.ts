import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';

const ROOT = path.join(import.meta.dirname, '..', '..');
let report: string;

beforeAll(() => {
  const { stderr } = spawnSync(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--no-warnings',
      'node_modules/jest/bin/jest.js',
      'tests/runner/planted',
      '--runInBand',
      '--verbose',
      '--testPathIgnorePatterns=/node_modules/',
      '--testMatch=**/planted/*.part.spec.ts',
    ],
    { cwd: ROOT, encoding: 'utf8' },
  );
  report = stderr;
}, 60_000);

test('suites of one worker share modules, and neither environment variables nor timers', () => {
  expect(report.match(/^suite \d+$/gm)).toEqual(['suite 1', 'suite 2']);
});

test('a spec runs in each suite that imports it', () => {
  expect(report).toContain('3 failed, 1 passed, 4 total');
});

test('a hook that a shared module registers belongs to the suite that runs', () => {
  expect(report.match(/^end of \w+$/gm)?.toSorted()).toEqual(['end of first', 'end of second']);
});

test('a failure names its line of TypeScript', () => {
  expect(report).toContain('failing.part.spec.ts:7:');
});

test('Node keeps no compiled code of a worker, which would write it as it ends', () => {
  expect(process.env['NODE_COMPILE_CACHE']).toBeUndefined();
});
