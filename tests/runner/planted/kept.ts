import { afterAll, expect } from '@jest/globals';

let suites = 0;

/** What each planted suite does: it finds no variable of the other, and reports its number and, through a hook, its end. */
export function takePart(name: string): void {
  suites += 1;
  expect(process.env.PLANTED).toBeUndefined();
  process.env.PLANTED = name;
  process.stderr.write(`suite ${suites}\n`);
  afterAll(() => void process.stderr.write(`end of ${name}\n`));
}
