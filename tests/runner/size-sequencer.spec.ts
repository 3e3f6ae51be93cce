import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import SizeSequencer from './size-sequencer.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'tollgate-sequencer-'));
afterAll(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string): string => {
  const file = path.join(folder, name);
  writeFileSync(file, text);
  return file;
};
const context = {
  config: { cache: false },
  hasteFS: { getSize: () => 0 },
};
const order = (files: string[]): string[] => {
  const suites = files.map((file) => ({ path: file, context })) as never;
  return new SizeSequencer({} as never).sort(suites).map(({ path: file }) => path.basename(file));
};

test('without measured durations the suite with the largest parts starts first', () => {
  write('long.part.spec.ts', 'x'.repeat(500));
  write('first.part.spec.ts', `import './long.part.spec.ts';\n`);
  const small = write('small.spec.ts', 'x'.repeat(50));
  const middle = write('middle.spec.ts', 'x'.repeat(200));
  const feature = write('feature.spec.ts', `import './first.part.spec.ts';\n`);
  expect(order([middle, feature, small])).toEqual([
    'feature.spec.ts',
    'middle.spec.ts',
    'small.spec.ts',
  ]);
});
