import {
  closeSync,
  existsSync,
  fdatasyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';

const FILE_PATTERN = /^(\d{10})\.journal$/;
const SET_ASIDE_PATTERN = /\.journal\.set-aside\.\d+$/;

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

/** Less the zeros at its end: room that was allocated and never used. */
export function readJournalFile(folder: string, number: number): string {
  const bytes = readFileSync(journalPath(folder, number));
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  return bytes.toString('utf8', 0, end);
}

export function deleteJournalFile(folder: string, number: number): void {
  rmSync(journalPath(folder, number), { force: true });
}

/** Under a name that is no journal's. */
function setJournalFileAside(folder: string, number: number): void {
  const path = journalPath(folder, number);
  for (let copy = 0; ; copy += 1) {
    const kept = `${path}.set-aside.${copy}`;
    if (existsSync(kept)) continue;
    renameSync(path, kept);
    return;
  }
}

/** A file of which nothing is missing is deleted; one that could not be read whole is kept for a person to look at. */
export function retireJournalFiles(
  folder: string,
  { numbers, damaged }: { numbers: readonly number[]; damaged: readonly number[] },
): void {
  for (const number of numbers) {
    if (damaged.includes(number)) setJournalFileAside(folder, number);
    else deleteJournalFile(folder, number);
  }
}

/** Files that were set aside, in all journals of this DATA_DIR. */
export function countSetAside(dataDir: string): number {
  return readdirSync(join(dataDir, 'journals'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => SET_ASIDE_PATTERN.test(name),
  ).length;
}

/** A new file's name survives a power loss only once its folder is on disk too. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fdatasyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

export function journalPath(folder: string, number: number): string {
  return join(folder, `${String(number).padStart(10, '0')}.journal`);
}
