import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openHold } from '../../test/usage/holds.ts';
import { silent } from '../../test/usage/open-recorder.ts';
import { ManualTime } from '../testing/manual-time.ts';
import { LOCAL_DISK, type JournalDisk } from './journal-disk.ts';
import { journalFileNumbers, journalPath, readJournalFile } from './journal-files.ts';
import { admittedLine } from './journal-line.ts';
import { Journal } from './journal.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-ticks-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A disk on which no file is larger than this. */
function smallDisk(room: { bytes: number }): JournalDisk {
  return {
    ...LOCAL_DISK,
    writeSync: (descriptor, bytes, offset, length, position) => {
      if (position + length > room.bytes) throw new Error('ENOSPC: no space left on device');
      return LOCAL_DISK.writeSync(descriptor, bytes, offset, length, position);
    },
  };
}

/** Collects the errors that a journal logs. */
function watchedLog(): { log: typeof silent; errors: string[] } {
  const errors: string[] = [];
  const error = (...parts: unknown[]): void => void errors.push(String(parts[1]));
  return { log: { ...silent, error: error as typeof silent.error }, errors };
}

describe('a journal whose disk is short of room', () => {
  test('keeps the room of finals from other lines, which wait and follow in their order', async () => {
    const time = new ManualTime();
    const room = { bytes: 256 * 1024 };
    const { log, errors } = watchedLog();
    const { timers } = time;
    const { journal } = await Journal.open({ folder, log, disk: smallDisk(room), timers });
    journal.keepRoom();
    const others = Array.from({ length: 300 }, (_, index) => `${index} ${'x'.repeat(1_000)}`);
    for (const line of others) {
      journal.append(`${line}\n`);
      journal.flush();
    }
    expect(journal.isWritable).toBe(false);
    journal.appendLive(`final ${'y'.repeat(1_500)}\n`);
    journal.flush();
    const written = (): string[] => readJournalFile(folder, 1).trimEnd().split('\n');
    expect(written().at(-1)).toMatch(/^final /);
    expect(written().length).toBeLessThan(others.length);
    expect(() => journal.sync()).toThrow(/lines of the journal could not be written/);
    room.bytes = Infinity;
    await time.pass(100);
    expect(journal.isWritable).toBe(true);
    expect(written().filter((line) => !line.startsWith('final'))).toEqual(others);
    journal.close();
    expect(errors).toHaveLength(1);
  });

  test('tries a new file once a tick', async () => {
    const time = new ManualTime();
    const { log, errors } = watchedLog();
    const full = new Set<string>();
    const create: JournalDisk['create'] = (path) => {
      if (full.size > 0) throw new Error('ENOSPC: no space left on device');
      return LOCAL_DISK.create(path);
    };
    const disk = { ...LOCAL_DISK, create };
    const options = { folder, log, disk, fileBytesMax: 10, timers: time.timers };
    const { journal } = await Journal.open(options);
    full.add('disk');
    for (let line = 0; line < 3; line += 1) {
      journal.append(`${'x'.repeat(20)}\n`);
      journal.flush();
    }
    expect(errors).toEqual(['journal could not start a new file']);
    full.clear();
    await time.pass(100);
    journal.append('line\n');
    journal.flush();
    expect(journalFileNumbers(folder)).toEqual([1, 2]);
    journal.close();
  });
});

test('a journal that closes deletes the files of which nothing lives', async () => {
  const { journal } = await Journal.open({ folder, log: silent, fileBytesMax: 100 });
  const place = journal.appendLive(admittedLine(openHold()));
  journal.flush();
  journal.release(place);
  journal.close();
  expect(journalFileNumbers(folder)).toEqual([2]);
});

test('a line that waits for the end of its tick keeps the journal awake until it is on disk', async () => {
  const time = new ManualTime();
  const later: (() => void)[] = [];
  const timers = { ...time.timers, soon: (act: () => void) => void later.push(act) };
  let syncs = 0;
  const disk: JournalDisk = {
    ...LOCAL_DISK,
    fdatasync: (_descriptor, done) => {
      syncs += 1;
      done(null);
    },
  };
  const { journal } = await Journal.open({ folder, log: silent, disk, timers });
  await time.pass(1_000);
  const before = syncs;
  journal.append('line\n');
  await time.pass(100);
  for (const act of later.splice(0)) act();
  await time.pass(100);
  expect(syncs).toBe(before + 1);
  journal.close();
});

test('two files that fail in one tick are one error', async () => {
  const time = new ManualTime();
  const { log, errors } = watchedLog();
  const disk: JournalDisk = {
    ...LOCAL_DISK,
    fdatasync: (_descriptor, done) => done(new Error('EIO')),
  };
  const options = { folder, log, disk, fileBytesMax: 10, timers: time.timers };
  const { journal } = await Journal.open(options);
  journal.append('the first file\n');
  journal.flush();
  await time.pass(100);
  expect(errors).toHaveLength(1);
  journal.close();
});

test('a journal of which one file failed does not say that it is on disk', async () => {
  const time = new ManualTime();
  const disk: JournalDisk = {
    ...LOCAL_DISK,
    fdatasync: (_descriptor, done) => done(new Error('EIO')),
  };
  const { journal } = await Journal.open({ folder, log: silent, disk, timers: time.timers });
  journal.append('line\n');
  journal.flush();
  await time.pass(100);
  expect(() => journal.sync()).toThrow('could not be written');
  journal.close();
});

test('a new file has its room before it takes lines', async () => {
  const { journal } = await Journal.open({ folder, log: silent, fileBytesMax: 10 });
  for (let running = 0; running < 64; running += 1) journal.keepRoom();
  journal.append('longer than a file\n');
  journal.flush();
  expect(statSync(journalPath(folder, 2)).size).toBe(256 * 1024);
  journal.close();
});
