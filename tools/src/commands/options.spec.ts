import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { printsHelp } from './options.ts';
import { start } from './start.ts';
import { stop } from './stop.ts';

let printed: string[];
const { log } = console;

beforeEach(() => {
  printed = [];
  console.log = (text) => void printed.push(String(text));
});
afterEach(() => {
  console.log = log;
});

test.each([
  [start, 'npm start -- [--detach] [--restore-nodes] [--no-traffic]'],
  [stop, 'npm stop\n'],
] as const)('help of %p is printed, and nothing is started or stopped', async (command, usage) => {
  for (const option of ['--help', '-h']) expect(await command([option])).toBe(0);
  expect(printed).toHaveLength(2);
  for (const text of printed) expect(text).toContain(usage);
});

test('an option that a command does not have is refused with those it has', async () => {
  await expect(start(['--detatch'])).rejects.toThrow(
    'npm start has no option --detatch.\n  Fix: npm start -- [--detach]',
  );
  await expect(stop(['--all'])).rejects.toThrow('npm stop has no option --all.\n  Fix: npm stop');
  expect(printsHelp(['--a'], { command: 'npm start', options: ['--a'], does: '' })).toBe(false);
});
