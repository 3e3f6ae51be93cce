import { dirname, join } from 'node:path';
import type { JournalDisk } from '../../../apps/proxy-node/src/journal/journal-disk.ts';
import type { JournalLock } from '../../../apps/proxy-node/src/journal/journal-lock.ts';
import type { SimulatedProcess } from './process.ts';
import type { Random } from './random.ts';

interface File {
  bytes: Buffer;
  /** What survives a power loss for certain. */
  durable: Buffer;
  /** Bytes of it that the disk has given room to. */
  allocated: number;
}

/** The disk of one machine. It outlives its processes; a power loss takes what was not synced, and may leave a part of it. */
export class SimulatedDisk {
  readonly files = new Map<string, File>();
  readonly #folders = new Set<string>(['/']);
  readonly #locks = new Map<string, SimulatedProcess>();
  readonly #random: Random;
  /** A write that needs new room fails. */
  isFull = false;
  /** Syncs that say they are done and did nothing. */
  isLying = false;
  isFailing = false;
  hasLied = false;
  hasFailed = false;

  constructor(random: Random) {
    this.#random = random;
  }

  /** As `process` sees it. Descriptors are paths by number. */
  for(process: SimulatedProcess): JournalDisk {
    const open = new Map<number, string>();
    let last = 2;
    const pathOf = (descriptor: number): string => {
      const path = open.get(descriptor);
      if (path === undefined) throw new Error('EBADF: bad file descriptor');
      return path;
    };
    return {
      makeFolder: (path) => this.#makeFolder(path),
      list: (folder) => this.#list(folder),
      exists: (path) => this.files.has(path),
      read: (path) => Buffer.from(this.#file(path).bytes),
      create: (path) => {
        if (this.files.has(path)) throw new Error('EEXIST: file already exists');
        this.files.set(path, { bytes: Buffer.alloc(0), durable: Buffer.alloc(0), allocated: 0 });
        open.set((last += 1), path);
        return last;
      },
      rename: (from, to) => {
        this.files.set(to, this.#file(from));
        this.files.delete(from);
      },
      remove: (path) => void this.files.delete(path),
      syncFolder: () => undefined,
      writeSync: (descriptor, bytes, offset, length, position) =>
        this.#write(pathOf(descriptor), bytes.subarray(offset, offset + length), position),
      truncate: (descriptor, bytes) => this.#truncate(pathOf(descriptor), bytes),
      fdatasync: (descriptor, done) => {
        const path = pathOf(descriptor);
        process.after(1 + this.#random.next() * 30, () => done(this.#trySync(path)), 'fdatasync');
      },
      fdatasyncSync: (descriptor) => {
        const error = this.#trySync(pathOf(descriptor));
        if (error) throw error;
      },
      close: (descriptor) => void open.delete(descriptor),
    };
  }

  /** A lock that the kernel gives back when its process ends. */
  tryLock(folder: string, process: SimulatedProcess): JournalLock | undefined {
    const owner = this.#locks.get(folder);
    if (owner?.isAlive) return undefined;
    this.#locks.set(folder, process);
    const release = (): void => {
      if (this.#locks.get(folder) === process) this.#locks.delete(folder);
    };
    const retire = (): void => {
      release();
      if (this.#list(folder).length === 0) this.#folders.delete(folder);
    };
    return { fence: 1, release, retire };
  }

  /** What was written after the last sync is lost, but for a piece of its beginning, which may end in the middle of a line. */
  losePower(): void {
    for (const file of this.files.values()) {
      const { bytes, durable } = file;
      const kept = Math.min(bytes.length, durable.length);
      const isSame = bytes.subarray(0, kept).equals(durable.subarray(0, kept));
      const torn = this.#random.integer(0, bytes.length);
      const from = isSame ? firstDifference(bytes, durable) : 0;
      file.bytes =
        torn > from && bytes.length >= durable.length
          ? Buffer.concat([bytes.subarray(0, torn), durable.subarray(torn)])
          : Buffer.from(durable);
      file.durable = Buffer.from(file.bytes);
    }
  }

  /** Turns one bit of what is written, in a file of `folder`. */
  damage(folder: string): boolean {
    const files = [...this.files.entries()].filter(
      ([path, { bytes }]) => dirname(path) === folder && bytes.some((byte) => byte !== 0),
    );
    const [, file] = files.length > 0 ? this.#random.pick(files) : [];
    if (!file) return false;
    const end = file.bytes.findLastIndex((byte) => byte !== 0);
    const at = this.#random.integer(0, Math.max(0, end - 1));
    file.bytes[at] = (file.bytes[at] ?? 0) ^ 1;
    file.durable = Buffer.from(file.bytes);
    return true;
  }

  #file(path: string): File {
    const file = this.files.get(path);
    if (!file) throw new Error(`ENOENT: no such file, ${path}`);
    return file;
  }

  #makeFolder(path: string): void {
    for (let at = path; !this.#folders.has(at); at = dirname(at)) this.#folders.add(at);
  }

  #list(folder: string): { name: string; isFolder: boolean }[] {
    const named = (path: string, isFolder: boolean): { name: string; isFolder: boolean }[] =>
      path !== '/' && dirname(path) === folder
        ? [{ name: path.slice(join(folder, '/').length), isFolder }]
        : [];
    return [
      ...[...this.#folders].flatMap((path) => named(path, true)),
      ...[...this.files.keys()].flatMap((path) => named(path, false)),
    ].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  #write(path: string, bytes: Uint8Array, position: number): number {
    if (this.isFailing) throw new Error('EIO: i/o error, write');
    const file = this.#file(path);
    const end = position + bytes.length;
    if (this.isFull && end > file.allocated) throw new Error('ENOSPC: no space left on device');
    file.allocated = Math.max(file.allocated, end);
    if (file.bytes.length < end) {
      // Zeros behind the end are room; they are kept out of the copy that grows with each write.
      const grown = Buffer.alloc(end);
      file.bytes.copy(grown);
      file.bytes = grown;
    }
    file.bytes.set(bytes, position);
    return bytes.length;
  }

  #truncate(path: string, bytes: number): void {
    const file = this.#file(path);
    file.bytes = Buffer.from(file.bytes.subarray(0, bytes));
    file.allocated = Math.min(file.allocated, bytes);
  }

  #trySync(path: string): Error | null {
    if (this.isFailing) return new Error('EIO: i/o error, fdatasync');
    const file = this.files.get(path);
    if (file && !this.isLying) file.durable = Buffer.from(file.bytes);
    return null;
  }
}

function firstDifference(one: Buffer, other: Buffer): number {
  const end = Math.min(one.length, other.length);
  for (let at = 0; at < end; at += 1) if (one[at] !== other[at]) return at;
  return end;
}
