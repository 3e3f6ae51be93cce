import {
  closeSync,
  existsSync,
  fdatasync,
  fdatasyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';

const OWNER_ONLY_FOLDER = 0o700;
const OWNER_ONLY_FILE = 0o600;

/** Lists the calls that journals make to the disk. Each call but `fdatasync` throws the disk's error. */
export interface JournalDisk {
  /** Creates the folder and those above it. */
  makeFolder(path: string): void;
  /** Returns the names in a folder. */
  list(folder: string): { name: string; isFolder: boolean }[];
  exists(path: string): boolean;
  read(path: string): Buffer;
  /** Creates a new file and returns its descriptor. */
  create(path: string): number;
  rename(from: string, to: string): void;
  /** Does nothing when there is no such file. */
  remove(path: string): void;
  /** A new file's name survives a power loss only after its folder is synced, too. */
  syncFolder(path: string): void;
  writeSync(
    descriptor: number,
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): number;
  truncate(descriptor: number, bytes: number): void;
  fdatasync(descriptor: number, done: (error: Error | null) => void): void;
  fdatasyncSync(descriptor: number): void;
  close(descriptor: number): void;
}

export const LOCAL_DISK: JournalDisk = {
  makeFolder: (path) => void mkdirSync(path, { recursive: true, mode: OWNER_ONLY_FOLDER }),
  list: (folder) =>
    readdirSync(folder, { withFileTypes: true }).map((entry) => ({
      name: entry.name,
      isFolder: entry.isDirectory(),
    })),
  exists: existsSync,
  read: (path) => readFileSync(path),
  create: (path) => openSync(path, 'wx', OWNER_ONLY_FILE),
  rename: renameSync,
  remove: (path) => rmSync(path, { force: true }),
  syncFolder: (path) => {
    const descriptor = openSync(path, 'r');
    try {
      fdatasyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  },
  writeSync,
  truncate: ftruncateSync,
  fdatasync,
  fdatasyncSync,
  close: closeSync,
};
