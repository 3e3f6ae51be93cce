import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { LOCAL_DISK, type JournalDisk } from './journal-disk.ts';
import { JournalFile } from './journal-file.ts';
import { countSetAside, journalFolder, retireJournalFiles } from './journal-files.ts';

let dataDir: string;
let folder: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tollgate-journal-file-'));
  folder = journalFolder(dataDir, { node: 'node-a', worker: 0 }, LOCAL_DISK);
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

/** Makes the local disk, with a list of syncs and closes; a background sync ends when the test says so. */
function watchedDisk() {
  const calls: string[] = [];
  const ends: ((error: Error | null) => void)[] = [];
  const disk: JournalDisk = {
    ...LOCAL_DISK,
    fdatasyncSync: (descriptor) => {
      calls.push('sync');
      LOCAL_DISK.fdatasyncSync(descriptor);
    },
    fdatasync: (_descriptor, done) => {
      calls.push('sync soon');
      ends.push(done);
    },
    close: (descriptor) => {
      calls.push('close');
      LOCAL_DISK.close(descriptor);
    },
  };
  const file = new JournalFile(folder, 1, disk);
  return { file, calls, end: (error: Error | null = null) => ends.shift()?.(error) };
}

const LINE = Buffer.from('line\n');

describe('a file of a journal', () => {
  test('is synced once for what was written, and not again', () => {
    const { file, calls } = watchedDisk();
    file.sync();
    expect([file.isSynced, calls]).toEqual([true, []]);
    file.write(LINE);
    expect(file.isSynced).toBe(false);
    file.sync();
    file.sync();
    expect([file.isSynced, calls]).toEqual([true, ['sync']]);
    file.close();
  });

  test('is not synced where only its room is new', () => {
    const { file } = watchedDisk();
    file.allocate(10);
    expect(file.isSynced).toBe(false);
    file.sync();
    expect([file.isSynced, file.room >= 10]).toEqual([true, true]);
    file.close();
  });

  test('waits for a sync in progress, which may have begun before the last write', () => {
    const { file, calls, end } = watchedDisk();
    const ended: (Error | null)[] = [];
    file.write(LINE);
    file.syncSoon((error) => ended.push(error));
    file.syncSoon((error) => ended.push(error));
    expect([file.isSynced, calls]).toEqual([false, ['sync soon']]);
    file.sync();
    expect(calls).toEqual(['sync soon', 'sync']);
    end();
    expect([file.isSynced, ended]).toEqual([true, [null]]);
    file.close();
  });

  test('is written but not synced after a sync that failed, and after a write during one', () => {
    const { file, end } = watchedDisk();
    file.write(LINE);
    file.syncSoon(() => undefined);
    end(new Error('EIO'));
    expect(file.isSynced).toBe(false);
    file.syncSoon(() => undefined);
    file.write(LINE);
    end();
    expect(file.isSynced).toBe(false);
    file.close();
  });

  test('is closed only when its sync has ended', () => {
    const { file, calls, end } = watchedDisk();
    file.write(LINE);
    file.syncSoon(() => undefined);
    file.close();
    expect(calls).toEqual(['sync soon']);
    end();
    expect(calls).toEqual(['sync soon', 'close']);
  });

  test('has a name that a power loss does not take, in folders of which none takes theirs', () => {
    const synced: string[] = [];
    const disk = { ...LOCAL_DISK, syncFolder: (path: string) => void synced.push(path) };
    new JournalFile(folder, 1, disk).close();
    expect(synced).toEqual([folder, dirname(folder), dataDir, dirname(dataDir)]);
  });

  test.each([
    ['EACCES', true],
    ['EIO', false],
  ])('is made where the folder above DATA_DIR fails with %s: %p', (code, isMade) => {
    const syncFolder = (path: string): void => {
      if (path === dirname(dataDir)) throw Object.assign(new Error(code), { code });
    };
    const make = (): void => new JournalFile(folder, 1, { ...LOCAL_DISK, syncFolder }).close();
    if (isMade) make();
    else expect(make).toThrow(code);
  });

  test('that is damaged is set aside under a name of its own each time, and counted', () => {
    for (const copies of [1, 2, 3]) {
      new JournalFile(folder, 7, LOCAL_DISK).close();
      retireJournalFiles(folder, { numbers: [7], damaged: [7] }, LOCAL_DISK);
      expect(countSetAside(dataDir, LOCAL_DISK)).toBe(copies);
    }
  });
});
