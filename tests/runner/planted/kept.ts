import { afterAll, expect, jest } from '@jest/globals';

let suites = 0;
const { setTimeout: setTimeoutOfProcess } = globalThis;

/** Runs the part of each planted suite: it finds no variable and no timer of the other, and reports its number and, through a hook, its end. */
export function takePart(name: string): void {
  suites += 1;
  expect(process.env.PLANTED).toBeUndefined();
  process.env.PLANTED = name;
  expect(setTimeout).toBe(setTimeoutOfProcess);
  jest.useFakeTimers();
  jest.spyOn(globalThis, 'setTimeout').mockRestore();
  jest.useRealTimers();
  expect(setTimeout).toBe(setTimeoutOfProcess);
  process.stderr.write(`suite ${suites}\n`);
  afterAll(() => void process.stderr.write(`end of ${name}\n`));
}
