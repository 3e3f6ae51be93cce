import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { withLock } from './checkout-lock.mjs';
import { findFreePort } from './free-port.ts';
import { restoreRecords } from './lost-records.ts';
import { ManagedProcess, type ProcessSpec } from './managed-process.ts';
import { readLivePid, reclaim, writePidFile } from './pid-file.ts';
import { identityOf } from './process-identity.mjs';
import { supervise } from './supervise.ts';
import { until, letPass } from '../testing/waiting.ts';

const SOURCES = import.meta.dirname;
const STOP = { steps: [{ signal: 'SIGTERM', graceMs: 300 }] } as const;

let folder: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'tollgate-processes-'));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function spawnNode(program: string): ChildProcess & { pid: number } {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  children.push(child);
  return child as ChildProcess & { pid: number };
}

const SLEEP = 'setInterval(() => {}, 1000); console.log("up")';
const STUBBORN = `process.on("SIGTERM", () => {}); ${SLEEP}`;

function managed(
  program: string,
  overrides: Partial<ProcessSpec> = {},
  run = 'run',
): ManagedProcess {
  const folders = { run: path.join(folder, run), logs: path.join(folder, 'logs') };
  const log = path.join(folders.logs, 'child.log');
  return new ManagedProcess(
    {
      name: 'child',
      command: process.execPath,
      args: ['--input-type=module', '-e', program],
      env: process.env,
      stop: STOP,
      isReady: async () => existsSync(log) && readFileSync(log, 'utf8').includes('up'),
      readyTimeoutMs: 10_000,
      ...overrides,
    },
    folders,
  );
}

test('ends a process on record, also one that ignores the polite signal', async () => {
  const child = spawnNode(STUBBORN);
  await once(child.stdout as NodeJS.EventEmitter, 'data');
  writePidFile(folder, 'stubborn', child.pid, { steps: [{ signal: 'SIGTERM', graceMs: 100 }] });
  expect(await reclaim(folder)).toEqual(['stubborn']);
  expect(identityOf(child.pid)).toBeUndefined();
  expect(await reclaim(folder)).toEqual([]);
});

test('never touches a process that was given the pid of one on record', async () => {
  const child = spawnNode(SLEEP);
  await once(child.stdout as NodeJS.EventEmitter, 'data');
  writeFileSync(
    path.join(folder, 'gone.pid'),
    JSON.stringify({ pid: child.pid, identity: 'an earlier boot:1', stop: STOP }),
  );
  expect(await reclaim(folder)).toEqual([]);
  expect(identityOf(child.pid)).toBeDefined();
});

test('says why a process did not start, and leaves nothing of it running', async () => {
  const child = managed('console.log("port is taken"); setInterval(() => {}, 1000)', {
    readyTimeoutMs: 500,
  });
  await expect(child.start()).rejects.toThrow(
    /not ready within 0.5 s without progress[^]*port is taken/,
  );
  expect(child.isRunning).toBe(false);
  await expect(managed('console.log("bad setting"); process.exit(3)').start()).rejects.toThrow(
    /ended while starting[^]*bad setting/,
  );
});

test('waits for a process that makes progress beyond the time that one without it has', async () => {
  const startedAtMs = Date.now();
  const busy = managed('console.log("up"); setInterval(() => console.log("step"), 50)', {
    readyTimeoutMs: 400,
    isReady: () => Promise.resolve(Date.now() - startedAtMs > 1_300),
  });
  await busy.start();
  await busy.stop();
  const endless = managed('setInterval(() => console.log("step"), 50)', {
    readyTimeoutMs: 200,
    isReady: () => Promise.resolve(false),
  });
  await expect(endless.start()).rejects.toThrow('1 s in all');
});

test('ends its processes although their records were deleted, and no process of another run', async () => {
  const mine = managed(SLEEP);
  const other = managed(SLEEP, {}, 'other');
  await Promise.all([mine.start(), other.start()]);
  const run = path.join(folder, 'run');
  rmSync(run, { recursive: true });
  const { pid } = mine;
  restoreRecords(run, []);
  expect(await reclaim(run)).toEqual([`found-${pid}`]);
  await until('it is gone', () => !mine.isRunning);
  expect(other.isRunning).toBe(true);
  await other.stop();
});

test('starts a crashed process again, and no more once stopped', async () => {
  const child = managed(SLEEP);
  const stopping = new AbortController();
  const lines: string[] = [];
  await child.start();
  const first = child.pid;
  const supervision = supervise(child, stopping.signal, (line) => lines.push(line));
  process.kill(first as number, 'SIGKILL');
  await until(
    'the process runs again',
    () =>
      child.pid !== undefined &&
      child.pid !== first &&
      lines.some((line) => line.includes('is back')),
  );
  expect(readLivePid(path.join(folder, 'run'), 'child')?.pid).toBe(child.pid);
  stopping.abort();
  await child.stop();
  await supervision;
  expect(child.isRunning).toBe(false);
  expect(lines).toHaveLength(2);
});

test('leaves no process and no file behind when the parent is killed with -9', async () => {
  const disposable = path.join(folder, 'disposable');
  mkdirSync(disposable);
  const run = path.join(folder, 'run');
  const parent = spawnNode(`
    import { startWatchdog } from ${JSON.stringify(path.join(SOURCES, 'watchdog.ts'))};
    import { ManagedProcess } from ${JSON.stringify(path.join(SOURCES, 'managed-process.ts'))};
    startWatchdog(${JSON.stringify(run)}, ${JSON.stringify(disposable)});
    const child = new ManagedProcess({ name: 'child', command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'], env: {}, stop: { steps: [] }, isReady: async () => true, readyTimeoutMs: 1000 }, { run: ${JSON.stringify(run)}, logs: ${JSON.stringify(run)} });
    await child.start();
    console.log(child.pid);
    setInterval(() => {}, 1000);
  `);
  const [output] = (await once(parent.stdout as NodeJS.EventEmitter, 'data')) as [Buffer];
  const childPid = Number(String(output));
  expect(identityOf(childPid)).toBeDefined();
  parent.kill('SIGKILL');
  await until(
    'nothing is left behind',
    () =>
      identityOf(childPid) === undefined &&
      !existsSync(disposable) &&
      readLivePid(run, 'watchdog') === undefined,
  );
});

test('lets one process at a time through a lock, and takes over the lock of a dead one', async () => {
  const lock = path.join(folder, 'lock');
  const dead = spawnNode('');
  const identity = identityOf(dead.pid);
  await once(dead, 'exit');
  writeFileSync(lock, JSON.stringify({ pid: dead.pid, identity }));
  let inside = 0;
  const work = async (): Promise<number> => {
    inside += 1;
    const seen = inside;
    await letPass(5, 'another process could enter meanwhile');
    inside -= 1;
    return seen;
  };
  expect(await Promise.all(Array.from({ length: 4 }, () => withLock(lock, work)))).toEqual([
    1, 1, 1, 1,
  ]);
  expect(existsSync(lock)).toBe(false);
});

test('chooses ports below the ephemeral range', async () => {
  const taken = new Set<number>();
  for (let index = 0; index < 20; index += 1) taken.add(await findFreePort([], taken));
  expect(taken.size).toBe(20);
  expect(Math.max(...taken)).toBeLessThan(32_768);
});
