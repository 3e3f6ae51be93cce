import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finalText, openHold } from '../../test/usage/holds.ts';
import { silent } from '../../test/usage/open-recorder.ts';
import { ManualTime } from '../testing/manual-time.ts';
import { LOCAL_DISK, type JournalDisk } from './journal-disk.ts';
import { journalFileNumbers, readJournalFile } from './journal-files.ts';
import { acknowledgedLine, admittedLine } from './journal-line.ts';
import { Journal } from './journal.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-journal-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('Journal', () => {
  test('gives back after a restart what was written, and starts a new file behind a torn line', async () => {
    const { journal } = await Journal.open({ folder, log: silent });
    const request = openHold();
    journal.appendLive(admittedLine(request));
    journal.close();
    appendFileSync(join(folder, '0000000001.journal'), '0badc0de {"t":"A","hol');
    const again = await Journal.open({ folder, log: silent });
    expect([...again.replay.lost.keys()]).toEqual([request.rid]);
    expect([again.replay.torn, again.replay.unreadable]).toEqual([1, 0]);
    again.journal.appendLive(finalText(request));
    again.journal.close();
    const third = await Journal.open({ folder, log: silent });
    expect([...third.replay.finals.keys()]).toEqual([request.rid]);
    third.retire();
    expect(journalFileNumbers(folder)).toEqual([3]);
    third.journal.close();
  });

  test('keeps room for the final of each running request', async () => {
    const { journal } = await Journal.open({ folder, log: silent });
    const sizeWith = (requests: number): number => {
      for (let n = 0; n < requests; n += 1) journal.keepRoom();
      journal.append('a line\n');
      journal.flush();
      return statSync(join(folder, '0000000001.journal')).size;
    };
    const before = sizeWith(0);
    expect(sizeWith(1_000) - before).toBeGreaterThanOrEqual(1_000 * 2_048);
    journal.close();
  });

  test('calls back after the write, in one write for all lines of a tick', async () => {
    const { journal } = await Journal.open({ folder, log: silent });
    const [one, two] = [openHold(), openHold()];
    const seen: number[] = [];
    const lines = (): number => readJournalFile(folder, 1).split('\n').length - 1;
    await new Promise<void>((resolve) => {
      journal.appendLive(admittedLine(one), () => seen.push(lines()));
      journal.appendLive(admittedLine(two), () => {
        seen.push(lines());
        resolve();
      });
      expect(lines()).toBe(0);
    });
    expect(seen).toEqual([2, 2]);
    journal.close();
  });

  test('deletes a file once nothing in it or before it lives, and never an acknowledgement before its final', async () => {
    const crowded: number[] = [];
    const time = new ManualTime();
    // The disk syncs within the call, so that what may be deleted is deleted when its time comes.
    const disk: JournalDisk = {
      ...LOCAL_DISK,
      fdatasync: (descriptor, done) => {
        LOCAL_DISK.fdatasyncSync(descriptor);
        done(null);
      },
    };
    const options = { folder, log: silent, fileBytesMax: 2_000, disk, timers: time.timers };
    const { journal } = await Journal.open(options);
    const files: number[] = [];
    journal.onCarry = (place) => {
      crowded.push(place);
      files.push(journalFileNumbers(folder).length);
    };
    const old = journal.appendLive(admittedLine(openHold()));
    for (let index = 0; index < 40; index++) {
      const request = openHold();
      const place = journal.appendLive(finalText(request));
      journal.append(acknowledgedLine(Date.now(), [[request.rid, 0]]));
      journal.flush();
      journal.release(place);
    }
    await time.pass(1_000);
    expect(journalFileNumbers(folder)[0]).toBe(1);
    expect(crowded.every((place) => place === old) && crowded.length > 0).toBe(true);
    expect(Math.min(...files)).toBeGreaterThan(4);
    journal.release(old);
    await time.pass(1_000);
    expect(journalFileNumbers(folder)).toHaveLength(1);
    journal.close();
  });

  test('keeps a file of which nothing lives until what follows it is on disk', async () => {
    const time = new ManualTime();
    const syncs: ((error: Error | null) => void)[] = [];
    const disk: JournalDisk = {
      ...LOCAL_DISK,
      fdatasync: (_descriptor, done) => void syncs.push(done),
    };
    const options = { folder, log: silent, fileBytesMax: 200, disk, timers: time.timers };
    const { journal } = await Journal.open(options);
    const place = journal.appendLive(admittedLine(openHold()));
    journal.flush();
    for (const sync of syncs.splice(0)) sync(null);
    await time.pass(1_000);
    for (const sync of syncs.splice(0)) sync(null);
    await time.pass(1_000);
    journal.append(acknowledgedLine(Date.now(), [[openHold().rid, 0]]));
    journal.release(place);
    await time.pass(1_000);
    expect([syncs.length, journalFileNumbers(folder)]).toEqual([1, [1, 2]]);
    syncs.shift()?.(null);
    expect(journalFileNumbers(folder)).toEqual([2]);
    journal.close();
  });

  test('allocates 2 KiB ahead for the final of each running request, beside 128 KiB for those to come', async () => {
    const sizes: number[] = [];
    for (const running of [63, 64]) {
      const own = join(folder, String(running));
      mkdirSync(own);
      const { journal } = await Journal.open({ folder: own, log: silent });
      for (let request = 0; request < running; request += 1) journal.keepRoom();
      journal.append('line\n');
      journal.flush();
      sizes.push(statSync(join(own, '0000000001.journal')).size / 1024);
      journal.close();
    }
    // The journal writes pieces of 256 KiB.
    expect(sizes).toEqual([256, 512]);
  });

  test('keeps what a predecessor left while its own copy cannot be written', async () => {
    const before = await Journal.open({ folder, log: silent });
    before.journal.appendLive(admittedLine(openHold()));
    before.journal.close();
    const script = `
      const { Journal } = await import(${JSON.stringify(join(import.meta.dirname, 'journal.ts'))});
      const { journal, retire } = await Journal.open({ folder: ${JSON.stringify(folder)}, log: { error: () => {}, warn: () => {}, info: () => {} } });
      journal.appendLive('x'.repeat(4000) + '\\n');
      try { retire(); } catch (error) { console.log('retire: ' + error.message); }
      process.exit(0);
    `;
    const { stdout } = spawnSync(
      '/bin/bash',
      ['-c', 'ulimit -S -f 2; exec "$0" --input-type=module -e "$1"', process.execPath, script],
      { encoding: 'utf8' },
    );
    expect(stdout).toMatch(/^retire: 1 lines of the journal could not be written/);
    expect(journalFileNumbers(folder)).toEqual([1, 2]);
  });

  test('survives a disk that takes no more: says so, keeps what could not be written, goes on when there is room', () => {
    // A file size limit stands in for a full disk: the write comes up short, then fails. The limit is lifted from outside.
    const script = `
      const { Journal } = await import(${JSON.stringify(join(import.meta.dirname, 'journal.ts'))});
      const { execFileSync } = await import('node:child_process');
      const room = Promise.withResolvers();
      const warn = (context, text) => { console.log('warn:' + (text ?? context)); setImmediate(room.resolve); };
      const log = { error: (_context, text) => console.log('error:' + text), warn, info: () => {} };
      const { journal } = await Journal.open({ folder: ${JSON.stringify(folder)}, log });
      const line = JSON.stringify('x'.repeat(700));
      for (let index = 0; index < 4; index++) journal.appendLive(index + line + '\\n', () => console.log('after ' + index));
      journal.flush();
      console.log('writable:' + journal.isWritable);
      try { execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited'], { stdio: 'ignore' }); } catch { console.log('no prlimit'); process.exit(0); }
      await room.promise;
      console.log('writable:' + journal.isWritable);
      journal.close();
      process.exit(0);
    `;
    const { stdout } = spawnSync(
      '/bin/bash',
      ['-c', 'ulimit -S -f 2; exec "$0" --input-type=module -e "$1"', process.execPath, script],
      { encoding: 'utf8' },
    );
    expect(stdout).toContain('writable:false');
    expect(stdout).toContain('error:journal cannot be written');
    expect(stdout).toContain('after 3');
    if (stdout.includes('no prlimit')) return;
    expect(stdout).toContain('writable:true');
    const lines = readJournalFile(folder, 1).trimEnd().split('\n');
    expect(lines.map((text) => [text[0], text.length])).toEqual(
      ['0', '1', '2', '3'].map((first) => [first, 703]),
    );
  });
});
