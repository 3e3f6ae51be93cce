import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { truncateAppendOnlyFile } from './append-only-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'tollgate-append-only-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const sizeOf = (name: string): number => statSync(path.join(folder, name)).size;

// While Redis rewrites its base, it writes a second file, and the one before still counts.
test('a cut strikes the file that Redis wrote last, also from its tenth on', () => {
  const names = ['appendonly.aof.9.incr.aof', 'appendonly.aof.10.incr.aof'];
  for (const name of [...names, 'appendonly.aof.11.base.rdb'])
    writeFileSync(path.join(folder, name), '0123456789');
  truncateAppendOnlyFile(folder, 4);
  expect(names.map(sizeOf)).toEqual([10, 6]);
  expect(sizeOf('appendonly.aof.11.base.rdb')).toBe(10);
});

test('a cut of more than the file has leaves it empty', () => {
  writeFileSync(path.join(folder, 'appendonly.aof.1.incr.aof'), '0123456789');
  truncateAppendOnlyFile(folder, 48);
  expect(sizeOf('appendonly.aof.1.incr.aof')).toBe(0);
});
