import { dirname, join } from 'node:path';
import type { JournalDisk } from '../../../apps/proxy-node/src/journal/journal-disk.ts';
import type { JournalLock } from '../../../apps/proxy-node/src/journal/journal-lock.ts';
import type { SimulatedProcess } from './process.ts';
import type { Random } from './random.ts';

interface File {
  bytes: Buffer;
  /** The beginning of it is `bytes`, unless they were replaced since. */
  room?: Buffer;
  /** Holds what survives a power loss for certain. */
  durable: Buffer;
  /** Counts the bytes of it that the disk has given room to. */
  allocated: number;
  /** A fault changed what was written. */
  isDamaged?: boolean;
}

/** Is a change of names in a folder that a power loss may take back, with every later one of that folder. */
interface NameChange {
  folder: string;
  undo: () => void;
}

/** Is the disk of one machine. It outlives its processes; a power loss takes what was not synced, and may leave a part of it. */
export class SimulatedDisk {
  readonly files = new Map<string, File>();
  /** Holds DATA_DIR, which the operator made. */
  readonly #folders = new Set<string>(['/', '/data']);
  readonly #locks = new Map<string, SimulatedProcess>();
  readonly #random: Random;
  #nameChanges: NameChange[] = [];
  /** A write that needs new room fails. */
  isFull = false;
  /** Is true for syncs that say they are done and did nothing. */
  isLying = false;
  isFailing = false;
  /** Maps each process to when it first refused what that process wrote; those of which it took something since are left out. */
  readonly refusingSinceMs = new Map<SimulatedProcess, number>();
  hasLied = false;
  hasFailed = false;
  /** Is the name of a damaged file that was removed: what it still says is gone. */
  removedDamaged: string | null = null;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns the disk in the view of `process`. Descriptors are paths by number. */
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
        this.#name(path, { bytes: Buffer.alloc(0), durable: Buffer.alloc(0), allocated: 0 });
        open.set((last += 1), path);
        return last;
      },
      rename: (from, to) => this.#rename(from, to),
      remove: (path) => {
        if (this.files.get(path)?.isDamaged) this.removedDamaged ??= path;
        this.#name(path, undefined);
      },
      syncFolder: (folder) => this.#syncFolder(folder),
      writeSync: (descriptor, bytes, offset, length, position) => {
        this.#noteRefusal(process);
        return this.#write(pathOf(descriptor), bytes.subarray(offset, offset + length), position);
      },
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

  /** Takes a lock that the kernel gives back when its process ends. */
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

  /** Loses the data that was written after the last sync, but for a piece of its beginning, which may end in the middle of a line. */
  losePower(): void {
    this.#loseNames();
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

  /** Each folder keeps a beginning of its changes, whatever others keep. What a lost folder had is lost with it. */
  #loseNames(): void {
    for (const folder of new Set(this.#nameChanges.map((one) => one.folder))) {
      const own = this.#nameChanges.filter((one) => one.folder === folder);
      const kept = this.#random.integer(0, own.length);
      for (const { undo } of own.slice(kept).toReversed()) undo();
    }
    this.#nameChanges = [];
    const isLost = (folder: string): boolean =>
      !this.#folders.has(folder) || (folder !== '/' && isLost(dirname(folder)));
    for (const folder of this.#folders) if (isLost(folder)) this.#folders.delete(folder);
    for (const path of this.files.keys()) if (isLost(dirname(path))) this.files.delete(path);
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
    file.isDamaged = true;
    file.durable = Buffer.from(file.bytes);
    return true;
  }

  /** Puts a file under a name, or takes it away. */
  #name(path: string, file: File | undefined): void {
    const before = this.files.get(path);
    this.#nameChanges.push({ folder: dirname(path), undo: () => this.#put(path, before) });
    this.#put(path, file);
  }

  /** Both names change at once. */
  #rename(from: string, to: string): void {
    const [moved, replaced] = [this.#file(from), this.files.get(to)];
    const undo = (): void => {
      this.#put(to, replaced);
      this.#put(from, moved);
    };
    this.#nameChanges.push({ folder: dirname(to), undo });
    this.#put(to, moved);
    this.#put(from, undefined);
  }

  #put(path: string, file: File | undefined): void {
    if (file) this.files.set(path, file);
    else this.files.delete(path);
  }

  /** Keeps the names in the folder, and not its own in the folder above it. */
  #syncFolder(folder: string): void {
    if (this.isFailing) throw new Error('EIO: i/o error, fsync');
    if (this.isLying) return;
    this.#nameChanges = this.#nameChanges.filter((one) => one.folder !== folder);
  }

  #noteRefusal(process: SimulatedProcess): void {
    if (!this.isFailing) this.refusingSinceMs.delete(process);
    else if (!this.refusingSinceMs.has(process))
      this.refusingSinceMs.set(process, process.monotonicMs());
  }

  #file(path: string): File {
    const file = this.files.get(path);
    if (!file) throw new Error(`ENOENT: no such file, ${path}`);
    return file;
  }

  #makeFolder(path: string): void {
    if (this.#folders.has(path)) return;
    this.#makeFolder(dirname(path));
    this.#folders.add(path);
    const undo = (): void => void this.#folders.delete(path);
    this.#nameChanges.push({ folder: dirname(path), undo });
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
    if (file.bytes.length < end) grow(file, end);
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

/** Lengthens a file by zeros, in room that doubles: most writes are short and at its end. */
function grow(file: File, end: number): void {
  if (file.bytes.buffer !== file.room?.buffer || file.room.length < end) {
    file.room = Buffer.alloc(2 * end);
    file.bytes.copy(file.room);
  }
  file.bytes = file.room.subarray(0, end);
}

function firstDifference(one: Buffer, other: Buffer): number {
  const end = Math.min(one.length, other.length);
  for (let at = 0; at < end; at += 1) if (one[at] !== other[at]) return at;
  return end;
}
