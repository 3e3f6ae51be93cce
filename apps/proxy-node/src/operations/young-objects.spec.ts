import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

const RUNS = 4;

describe('objects of requests', () => {
  it('are allocated young, however many of them survive minor collections', () => {
    // By default 56 bytes, all of an object, in most runs but not in each.
    for (let run = 0; run < RUNS; run += 1) expect(directOldBytes()).toBeLessThan(5);
  });
});

/** Allocated in the old generation at once, of each object, in a process of its own. */
function directOldBytes(): number {
  const script = path.join(import.meta.dirname, '..', 'testing', 'requests-that-pass.ts');
  return Number(execFileSync(process.execPath, ['--no-warnings', script, 'young']));
}
