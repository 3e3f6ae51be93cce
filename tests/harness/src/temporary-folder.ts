import { accessSync, chmodSync, constants, mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isReachable, serviceUser, sharedFolder } from '@tollgate/tools';

/** Returns a folder for what tests leave behind, which the user that PostgreSQL runs as can reach. */
export function temporaryBase(): string {
  return isReachable(path.join(tmpdir(), 'x'), serviceUser()) ? tmpdir() : sharedFolder();
}

/** Makes a new folder of one suite: servers start with some 50 MB, which need not reach a disk. */
export function temporaryFolder(): string {
  const base = hasRoomInMemory() ? MEMORY : temporaryBase();
  const folder = mkdtempSync(path.join(base, 'tollgate-test-'));
  chmodSync(folder, 0o755);
  return folder;
}

/** Is Linux' file system in memory; containers often have 64 MB of it. */
const MEMORY = '/dev/shm';
const MEMORY_FREE_BYTES = 4 * 1024 ** 3;

function hasRoomInMemory(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return (
      bavail * bsize >= MEMORY_FREE_BYTES && isReachable(path.join(MEMORY, 'x'), serviceUser())
    );
  } catch {
    return false;
  }
}
