import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

describe('objects of requests', () => {
  it('stay young: what a request refers to does not outlive it in the old generation', () => {
    // 420 to 450 bytes against 960 to 1,570.
    expect(oldBytes('young')).toBeLessThan(0.75 * oldBytes('default'));
  });
});

/** Of an object of 1.7 KB, in a process of its own. */
function oldBytes(kind: 'young' | 'default'): number {
  const script = path.join(import.meta.dirname, '..', 'testing', 'requests-that-pass.ts');
  return Number(execFileSync(process.execPath, ['--no-warnings', script, kind]));
}
