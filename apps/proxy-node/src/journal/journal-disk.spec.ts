import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@tollgate/harness';
import { finalText, openHold } from '../../test/usage/holds.ts';
import { silent } from '../../test/usage/open-recorder.ts';
import { ManualTime } from '../testing/manual-time.ts';
import { LOCAL_DISK, type JournalDisk } from './journal-disk.ts';
import { journalFileNumbers } from './journal-files.ts';
import { admittedLine } from './journal-line.ts';
import { readJournals } from './journal-reading.ts';
import { Journal } from './journal.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-disk-'));
});
const mounted: string[] = [];
afterEach(() => {
  for (const path of mounted.splice(0)) spawnSync('umount', ['-l', path]);
  rmSync(folder, { recursive: true, force: true });
});

/** Mounts a disk of its own that is really full when it is full. */
function mountSmallDisk(): boolean {
  const isMounted =
    spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder]).status === 0;
  if (isMounted) mounted.push(folder);
  return isMounted;
}
const MAY_MOUNT = (() => {
  const probe = mkdtempSync(join(tmpdir(), 'tollgate-mount-'));
  const isAllowed = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', probe]).status === 0;
  if (isAllowed) spawnSync('umount', [probe]);
  rmSync(probe, { recursive: true, force: true });
  return isAllowed;
})();
const testOnFullDisk = MAY_MOUNT ? test : test.skip;
const NOTE = MAY_MOUNT ? '' : ' (skipped: only root may mount a small disk here)';

/** Fills it until it takes no byte more. */
function fill(path: string): void {
  const descriptor = openSync(path, 'w');
  for (const size of [64 * 1024, 1]) {
    try {
      for (;;) if (writeSync(descriptor, Buffer.alloc(size)) < size) break;
    } catch {
      // The disk is full for pieces of this size.
    }
  }
  closeSync(descriptor);
}

describe('on a full disk', () => {
  testOnFullDisk(`the final of every admitted request survives kill -9${NOTE}`, () => {
    expect(mountSmallDisk()).toBe(true);
    const requests = Array.from({ length: 200 }, () => openHold());
    // The script runs in a process of its own, so that what it left is what the kernel has of it.
    const script = `
      const { Journal } = await import(${JSON.stringify(join(import.meta.dirname, 'journal.ts'))});
      const fs = await import('node:fs');
      const log = { error: () => {}, warn: () => {}, info: () => {} };
      const { journal } = await Journal.open({ folder: ${JSON.stringify(folder)}, log });
      const { admitted, finals } = JSON.parse(fs.readFileSync(0, 'utf8'));
      for (const line of admitted) { journal.keepRoom(); journal.appendLive(line); journal.flush(); }
      const isWritableBefore = journal.isWritable;
      const filler = fs.openSync(${JSON.stringify(join(folder, 'filler'))}, 'w');
      for (const size of [65536, 1]) { try { for (;;) fs.writeSync(filler, Buffer.alloc(size)); } catch {} }
      for (let tick = 0; tick < 500; tick++) { journal.append('counts'.repeat(100) + '\\n'); journal.flush(); }
      const isWritableAfter = journal.isWritable;
      for (const line of finals) { journal.giveRoom(); journal.appendLive(line); journal.flush(); }
      fs.writeSync(1, JSON.stringify({ isWritableBefore, isWritableAfter }));
      process.kill(process.pid, 'SIGKILL');
    `;
    const { stdout, signal } = spawnSync(
      process.execPath,
      ['--no-warnings', '--input-type=module', '-e', script],
      {
        encoding: 'utf8',
        input: JSON.stringify({
          admitted: requests.map(admittedLine),
          finals: requests.map(finalText),
        }),
      },
    );
    expect([signal, JSON.parse(stdout)]).toEqual([
      'SIGKILL',
      { isWritableBefore: true, isWritableAfter: false },
    ]);
    const { replay } = readJournals(folder);
    expect([...replay.finals.keys()]).toEqual(requests.map(({ rid }) => rid));
    expect([replay.lost.size, replay.torn]).toEqual([0, 0]);
  });

  testOnFullDisk(`requests are refused until there is room again${NOTE}`, async () => {
    expect(mountSmallDisk()).toBe(true);
    const { journal } = await Journal.open({ folder, log: silent });
    fill(join(folder, 'filler'));
    for (let tick = 0; tick < 500; tick++) {
      journal.append(`${'counts'.repeat(100)}\n`);
      journal.flush();
    }
    expect(journal.isWritable).toBe(false);
    rmSync(join(folder, 'filler'));
    await until('there is room again', () => journal.isWritable);
    journal.sync();
    journal.close();
  });
});

/** Makes a disk on which calls fail while they are named here. */
function faultyDisk(): { disk: JournalDisk; failing: Set<keyof JournalDisk> } {
  const failing = new Set<keyof JournalDisk>();
  const fault = (call: keyof JournalDisk): void => {
    if (failing.has(call)) throw new Error(`EIO: i/o error, ${call}`);
  };
  const disk: JournalDisk = {
    ...LOCAL_DISK,
    writeSync: (...args) => {
      fault('writeSync');
      return LOCAL_DISK.writeSync(...args);
    },
    fdatasync: (descriptor, done) =>
      failing.has('fdatasync')
        ? void setImmediate(() => done(new Error('EIO: i/o error, fdatasync')))
        : LOCAL_DISK.fdatasync(descriptor, done),
    fdatasyncSync: (descriptor) => {
      fault('fdatasyncSync');
      LOCAL_DISK.fdatasyncSync(descriptor);
    },
  };
  return { disk, failing };
}

describe('after a failed call of the disk', () => {
  test.each(['writeSync', 'fdatasync'] as const)(
    'requests are refused until a new file has what lived in the old one (%s)',
    async (call) => {
      const { disk, failing } = faultyDisk();
      const time = new ManualTime();
      const { timers } = time;
      const { journal } = await Journal.open({ folder, log: silent, disk, timers });
      const [early, late] = [openHold(), openHold()];
      let place = journal.appendLive(admittedLine(early));
      journal.onCarry = (old) => {
        if (old !== place) return;
        place = journal.appendLive(admittedLine(early));
        journal.release(old);
      };
      journal.sync();
      failing.add(call);
      // A new file must be written and synced before it is trusted.
      failing.add('fdatasyncSync');
      journal.appendLive(admittedLine(late));
      await time.pass(200);
      expect(journal.isWritable).toBe(false);
      failing.delete(call);
      await time.pass(1_000);
      expect(journal.isWritable).toBe(false);
      failing.clear();
      await time.pass(1_000);
      expect(journal.isWritable).toBe(true);
      expect(place).toBeGreaterThan(1);
      journal.close();
      const again = await Journal.open({ folder, log: silent });
      expect(new Set(again.replay.lost.keys())).toEqual(new Set([early.rid, late.rid]));
      expect(again.replay.unreadable).toBe(0);
      again.journal.close();
    },
  );

  test('what a predecessor left stays until every file of its copy is on disk', async () => {
    const before = await Journal.open({ folder, log: silent });
    before.journal.appendLive(admittedLine(openHold()));
    before.journal.close();
    const { disk, failing } = faultyDisk();
    failing.add('fdatasyncSync');
    const { journal, retire } = await Journal.open({
      folder,
      log: silent,
      disk,
      fileBytesMax: 500,
    });
    // The copy is larger than a file: the failing sync is not that of the current one alone.
    for (let line = 0; line < 5; line++) journal.appendLive(finalText(openHold()));
    expect(retire).toThrow(/fdatasyncSync/);
    expect(journalFileNumbers(folder)).toContain(1);
    failing.clear();
    await until('a new file is in place', () => journal.isWritable);
    retire();
    expect(journalFileNumbers(folder)).not.toContain(1);
    journal.close();
  });
});

test('a file is deleted only once what was written after it is on disk', async () => {
  const waiting: (() => void)[] = [];
  const disk: JournalDisk = {
    ...LOCAL_DISK,
    fdatasync: (descriptor, done) =>
      void waiting.push(() => LOCAL_DISK.fdatasync(descriptor, done)),
  };
  const time = new ManualTime();
  const { timers } = time;
  const { journal } = await Journal.open({ folder, log: silent, disk, fileBytesMax: 100, timers });
  const request = openHold();
  const place = journal.appendLive(admittedLine(request));
  journal.flush();
  const next = journal.appendLive(finalText(request));
  journal.flush();
  expect(next).toBeGreaterThan(place);
  journal.release(place);
  await time.pass(1_000);
  expect(journalFileNumbers(folder)).toContain(place);
  await until('it is deleted', async () => {
    waiting.splice(0).forEach((sync) => sync());
    await time.pass(100);
    return !journalFileNumbers(folder).includes(place);
  });
  expect([...readJournals(folder).replay.finals.keys()]).toEqual([request.rid]);
  journal.close();
});

test('a journal that is on disk does not wake its process; the next line, and the release of one, are looked after again', async () => {
  const time = new ManualTime();
  const { timers } = time;
  const { journal } = await Journal.open({ folder, log: silent, fileBytesMax: 100, timers });
  const atRest = async (): Promise<boolean> => {
    const { wakes } = time;
    await time.pass(100);
    return time.wakes === wakes;
  };
  await until('it rests', atRest);
  const request = openHold();
  const place = journal.appendLive(admittedLine(request));
  journal.flush();
  expect(await atRest()).toBe(false);
  journal.appendLive(finalText(request));
  journal.flush();
  await until('both lines are on disk', atRest);
  journal.release(place);
  await until('it rests again', atRest);
  expect(journalFileNumbers(folder)).not.toContain(place);
  journal.close();
});

test('zeros behind the last line are room, and a tail torn in them is no damage', async () => {
  const { journal } = await Journal.open({ folder, log: silent });
  const request = openHold();
  journal.appendLive(admittedLine(request));
  journal.sync();
  const bytes = readFileSync(join(folder, '0000000001.journal'));
  expect(bytes.length).toBeGreaterThan(100_000);
  expect(bytes.at(-1)).toBe(0);
  expect(readJournals(folder)).toMatchObject({ damaged: [], replay: { torn: 0, unreadable: 0 } });
  journal.close();
});
