import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, linkSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { JournalLocked, lockJournal, tryLock, type JournalLock } from './journal-lock.ts';

let folder: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-lock-'));
});
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => killed(child)));
  rmSync(folder, { recursive: true, force: true });
});

const NAMESPACE = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
const MAKES_NAMESPACES =
  process.platform === 'linux' &&
  spawnSync(NAMESPACE[0] ?? '', [...NAMESPACE.slice(1), 'true']).status === 0;
const testAcrossNamespaces = MAKES_NAMESPACES ? test : test.skip;
const NOTE = MAKES_NAMESPACES ? '' : ' (skipped: only root may make PID namespaces here)';

const tryScript = (): string => `
  const { tryLock } = await import(${JSON.stringify(join(import.meta.dirname, 'journal-lock.ts'))});
  globalThis.lock = tryLock(${JSON.stringify(folder)});
  console.log(globalThis.lock ? 'locked' : 'busy');
`;

/** Starts a separate process, in a namespace of its own if asked, that reports about the lock and keeps the lock while it lives. */
async function startOwner({ isApart = false } = {}): Promise<{
  said: string;
  child: ChildProcess;
}> {
  const command = [
    ...(isApart ? NAMESPACE : []),
    process.execPath,
    '--no-warnings',
    '--input-type=module',
    '-e',
    `${tryScript()} setInterval(() => {}, 1_000);`,
  ];
  const child = spawn(command[0] ?? '', command.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const said = await new Promise<string>((resolve) =>
    child.stdout.once('data', (data: Buffer) => resolve(String(data).trim())),
  );
  return { said, child };
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await exited;
}

/** Waits, because the lock of a process that was just killed may still be held while the kernel tears it down. */
async function lockSoon(): Promise<JournalLock> {
  return lockJournal(folder, 5_000);
}

describe('the lock of a journal', () => {
  test('is refused to a second process, and free once its owner was killed, with a higher fence', async () => {
    const first = tryLock(folder);
    expect((await startOwner()).said).toBe('busy');
    first?.release();
    const { said, child } = await startOwner();
    expect(said).toBe('locked');
    expect(tryLock(folder)).toBeUndefined();
    await expect(lockJournal(folder, 100)).rejects.toThrow(JournalLocked);
    await killed(child);
    const next = await lockSoon();
    expect([first?.fence, next.fence]).toEqual([1, 3]);
    next.release();
  });

  test('is asked for until its time is over, and not again', async () => {
    let tries = 0;
    const take = (): JournalLock | undefined => {
      tries += 1;
      return undefined;
    };
    const monotonicNow = (): number => (tries > 1 ? 150 : 50);
    await expect(lockJournal(folder, 100, { tryLock: take, monotonicNow })).rejects.toThrow(
      JournalLocked,
    );
    expect(tries).toBe(2);
  });

  test('is given, without a fence, where its number cannot be written', () => {
    const database = new DatabaseSync(join(folder, 'lock.db'));
    database.exec(
      'CREATE TABLE owner (id INTEGER PRIMARY KEY, fence INTEGER CHECK (fence < 0), is_retired INTEGER)',
    );
    database.close();
    const lock = tryLock(folder);
    expect(lock?.fence).toBeNull();
    lock?.release();
  });

  test('is refused to the same process', () => {
    const first = tryLock(folder);
    expect(tryLock(folder)).toBeUndefined();
    first?.release();
    const again = tryLock(folder);
    expect(again).toBeDefined();
    again?.release();
  });

  testAcrossNamespaces(`holds between PID namespaces, in both directions${NOTE}`, async () => {
    const first = tryLock(folder);
    expect((await startOwner({ isApart: true })).said).toBe('busy');
    first?.release();
    const { said, child } = await startOwner({ isApart: true });
    expect(said).toBe('locked');
    expect(tryLock(folder)).toBeUndefined();
    expect((await startOwner({ isApart: true })).said).toBe('busy');
    await killed(child);
    (await lockSoon()).release();
  });

  test('is not given to who waited for a folder that was removed meanwhile', async () => {
    const retiring = tryLock(folder);
    const waiting = lockJournal(folder, 5_000);
    retiring?.retire();
    const lock = await waiting;
    expect(existsSync(join(folder, 'lock.db'))).toBe(true);
    expect((await startOwner()).said).toBe('busy');
    lock.release();
  });

  test('of a folder that was retired is given to no process that waited for its file', () => {
    const lock = tryLock(folder);
    const kept = mkdtempSync(join(tmpdir(), 'tollgate-kept-'));
    try {
      // The waiting process has opened the file before it was removed.
      linkSync(join(folder, 'lock.db'), join(kept, 'lock.db'));
      lock?.retire();
      expect(existsSync(folder)).toBe(false);
      expect(tryLock(kept)).toBeUndefined();
    } finally {
      rmSync(kept, { recursive: true, force: true });
    }
  });
});
