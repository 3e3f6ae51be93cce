import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type JestSequencerModule from '@jest/test-sequencer';

type Suites = Parameters<JestSequencerModule.default['sort']>[0];

const require = createRequire(import.meta.filename);
const { default: TestSequencer } = require('@jest/test-sequencer') as typeof JestSequencerModule;

const PART = /^import '(\.{1,2}\/[^']+\.part\.spec\.ts)'/gm;

/**
 * Starts the largest suites first when no run has measured them, so that the run does not end with one worker in a long suite.
 * Jest orders them by the size of their file, which says nothing of a spec that only imports its parts.
 */
export default class SizeSequencer extends TestSequencer {
  override sort(suites: Suites): Suites {
    const sorted = [...(super.sort(suites) as Suites)];
    if (sorted.some(({ duration }) => duration !== undefined)) return sorted;
    const sizes = new Map(sorted.map(({ path: file }) => [file, sizeWithParts(file)]));
    return sorted.sort((a, b) => (sizes.get(b.path) ?? 0) - (sizes.get(a.path) ?? 0));
  }
}

/** Returns the characters of a spec and of all parts that it imports. */
export function sizeWithParts(file: string): number {
  const text = readFileSync(file, 'utf8');
  const parts = [...text.matchAll(PART)].map(([, part = '']) => part);
  return parts
    .map((part) => sizeWithParts(path.join(path.dirname(file), part)))
    .reduce((sum, size) => sum + size, text.length);
}
