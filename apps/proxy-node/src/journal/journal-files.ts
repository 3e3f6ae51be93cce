import { dirname, join } from 'node:path';
import { LOCAL_DISK, type JournalDisk } from './journal-disk.ts';

const FILE_PATTERN = /^(\d{10})\.journal$/;
const SET_ASIDE_PATTERN = /\.journal\.set-aside\.\d+$/;

/**
 * Returns `<DATA_DIR>/journals/<node>.<worker>`: one folder per stable node name and worker index. The name is escaped, so that no two nodes share a
 * folder.
 */
export function journalFolder(
  dataDir: string,
  { node, worker }: { node: string; worker: number },
  disk: JournalDisk,
): string {
  const folder = join(dataDir, 'journals', `${encodeURIComponent(node)}.${worker}`);
  disk.makeFolder(folder);
  return folder;
}

/**
 * Syncs the folders of names, which a power loss would otherwise remove: those of new files in the journal's folder, the folder's own name, the
 * journals' folder in DATA_DIR, and DATA_DIR's own. A folder above DATA_DIR that this process may not read is the operator's, who made DATA_DIR in it.
 */
export function syncNames(folder: string, disk: JournalDisk): void {
  const all = dirname(folder);
  const dataDir = dirname(all);
  for (const one of [folder, all, dataDir]) disk.syncFolder(one);
  try {
    disk.syncFolder(dirname(dataDir));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
  }
}

/** Returns the other journals in this DATA_DIR: of other workers, of workers that no longer exist, and of a node's former names. */
export function otherJournalFolders(dataDir: string, own: string, disk: JournalDisk): string[] {
  return journalFolders(dataDir, disk).filter((folder) => folder !== own);
}

function journalFolders(dataDir: string, disk: JournalDisk): string[] {
  const parent = join(dataDir, 'journals');
  return disk
    .list(parent)
    .filter(({ isFolder }) => isFolder)
    .map(({ name }) => join(parent, name));
}

/** Returns the numbers in ascending order, which is the order of writing. */
export function journalFileNumbers(folder: string, disk: JournalDisk = LOCAL_DISK): number[] {
  return disk
    .list(folder)
    .flatMap(({ name }) => FILE_PATTERN.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

/** Reads the file without the zeros at its end, which are unused room. */
export function readJournalFile(
  folder: string,
  number: number,
  disk: JournalDisk = LOCAL_DISK,
): string {
  const bytes = disk.read(journalPath(folder, number));
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  return bytes.toString('utf8', 0, end);
}

export function deleteJournalFile(folder: string, number: number, disk: JournalDisk): void {
  disk.remove(journalPath(folder, number));
}

/** Renames the file to a name that is not a journal's. */
function setJournalFileAside(folder: string, number: number, disk: JournalDisk): void {
  const path = journalPath(folder, number);
  for (let copy = 0; ; copy += 1) {
    const kept = `${path}.set-aside.${copy}`;
    if (disk.exists(kept)) continue;
    disk.rename(path, kept);
    return;
  }
}

/** Deletes files that could be read completely; keeps the others for a person to look at. */
export function retireJournalFiles(
  folder: string,
  { numbers, damaged }: { numbers: readonly number[]; damaged: readonly number[] },
  disk: JournalDisk,
): void {
  for (const number of numbers) {
    if (damaged.includes(number)) setJournalFileAside(folder, number, disk);
    else deleteJournalFile(folder, number, disk);
  }
}

/** Counts the files that were set aside, in all journals of this DATA_DIR. */
export function countSetAside(dataDir: string, disk: JournalDisk): number {
  return journalFolders(dataDir, disk)
    .flatMap((folder) => disk.list(folder))
    .filter(({ name }) => SET_ASIDE_PATTERN.test(name)).length;
}

export function journalPath(folder: string, number: number): string {
  return join(folder, `${String(number).padStart(10, '0')}.journal`);
}
