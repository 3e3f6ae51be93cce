import {
  closeSync,
  fdatasyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';

const FILE_PATTERN = /^(\d{10})\.journal$/;
const OWNER_ONLY = 0o600;

/** `<DATA_DIR>/journals/<node>.<worker>`: one folder per stable node name and worker index. The name is escaped, so no two nodes share one. */
export function journalFolder(
  dataDir: string,
  { node, worker }: { node: string; worker: number },
): string {
  const folder = join(dataDir, 'journals', `${encodeURIComponent(node)}.${worker}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/** The other journals in this DATA_DIR: of other workers, of workers that no longer exist, of a node's former names. */
export function otherJournalFolders(dataDir: string, own: string): string[] {
  const parent = join(dataDir, 'journals');
  return readdirSync(parent, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(parent, entry.name))
    .filter((folder) => folder !== own);
}

/** Ascending; the number is the order of writing. */
export function journalFileNumbers(folder: string): number[] {
  return readdirSync(folder)
    .flatMap((name) => FILE_PATTERN.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

export function readJournalFile(folder: string, number: number): string {
  return readFileSync(pathOf(folder, number), 'utf8');
}

export function createJournalFile(folder: string, number: number): number {
  const descriptor = openSync(pathOf(folder, number), 'ax', OWNER_ONLY);
  syncFolder(folder);
  return descriptor;
}

export function deleteJournalFile(folder: string, number: number): void {
  rmSync(pathOf(folder, number), { force: true });
}

/** Removes an emptied folder; one that another process uses again stays. */
export function removeJournalFolder(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Not empty: its worker is back.
  }
}

/** A new file's name survives a power loss only once its folder is on disk too. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fdatasyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function pathOf(folder: string, number: number): string {
  return join(folder, `${String(number).padStart(10, '0')}.journal`);
}
