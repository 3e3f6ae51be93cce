import {
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { identityOf } from './process-identity.mjs';

const POLL_MS = 100;
const HALF_WRITTEN_MS = 5_000;

/**
 * Runs `work` while holding the lock file, so that two commands in one checkout do not install or build into each other.
 * A lock whose owner has died is taken over. It is plain JavaScript because the bootstrap needs it before Node 26 is there.
 * @template T
 * @param {string} file
 * @param {() => Promise<T>} work
 * @param {() => void} [onWait] called once when another process holds the lock
 * @returns {Promise<T>}
 */
export async function withLock(file, work, onWait) {
  mkdirSync(path.dirname(file), { recursive: true });
  for (let waits = 0; !tryLock(file); waits += 1) {
    if (waits === 0) onWait?.();
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** @param {string} file */
function tryLock(file) {
  try {
    const descriptor = openSync(file, 'wx');
    writeSync(descriptor, JSON.stringify({ pid: process.pid, identity: identityOf(process.pid) }));
    closeSync(descriptor);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
    if (isAbandoned(file)) removeAbandoned(file);
    return false;
  }
}

/**
 * Moves the lock aside before judging it again: two waiters that saw the same dead owner must not remove each other's new lock.
 * @param {string} file
 */
function removeAbandoned(file) {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
    if (!isAbandoned(aside)) linkSync(aside, file);
  } catch {
    // Another waiting process took the lock first.
  }
  rmSync(aside, { force: true });
}

/** @param {string} file */
function isAbandoned(file) {
  try {
    const text = readFileSync(file, 'utf8');
    // Between its creation and its first byte the file is empty; only an old empty one was left by a crash.
    if (text === '') return Date.now() - statSync(file).mtimeMs > HALF_WRITTEN_MS;
    const owner = JSON.parse(text);
    return identityOf(owner.pid) !== owner.identity;
  } catch {
    return false;
  }
}
