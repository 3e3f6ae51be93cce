import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SCENARIOS } from '../seed/scenarios.ts';
import { seed } from './seed.ts';

const { log, error } = console;
let printed: { output: string; errors: string };

beforeEach(() => {
  printed = { output: '', errors: '' };
  console.log = (text) => (printed.output += `${String(text)}\n`);
  console.error = (text) => (printed.errors += `${String(text)}\n`);
});
afterEach(() => void Object.assign(console, { log, error }));

const usage = [
  'npm run seed -- SCENARIO, one of',
  ...Object.entries(SCENARIOS).map(([name, { summary }]) => `    ${name}: ${summary}`),
  '',
].join('\n');

test('without a scenario, usage and scenarios are printed as an error', async () => {
  expect(await seed([])).toBe(1);
  expect(printed).toEqual({ output: '', errors: usage });
});

test('an unknown scenario is named, with those that exist', async () => {
  expect(await seed(['teems'])).toBe(1);
  expect(printed).toEqual({ output: '', errors: `Unknown scenario "teems".\n  Fix: ${usage}` });
});

test('help is printed, and nothing is sent', async () => {
  for (const option of ['--help', '-h']) expect(await seed([option])).toBe(0);
  expect(printed).toEqual({ output: usage + usage, errors: '' });
});
