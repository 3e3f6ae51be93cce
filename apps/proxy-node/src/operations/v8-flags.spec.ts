import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

const RUNS = 2;

describe('flags of V8', () => {
  it('objects of requests are allocated young, however many of them survive minor collections', () => {
    // Without the flag the object keeps 56 bytes, which is all of it, in most runs but not in each.
    for (let run = 0; run < RUNS; run += 1)
      expect(printedBy('requests-that-pass.ts')).toBeLessThan(5);
  });

  it('code that runs once a request is optimised after some thousand requests', () => {
    // Without the flag the number is 18,600.
    expect(printedBy('calls-until-optimised.ts')).toBeLessThan(8_000);
  });
});

/** Returns the number that a script prints, in a process of its own with the flags of a node. */
function printedBy(name: string): number {
  const script = path.join(import.meta.dirname, '..', 'testing', name);
  return Number(execFileSync(process.execPath, ['--no-warnings', script, 'tuned']));
}
