import type { JournalDisk } from './journal-disk.ts';
import { journalPath, syncNames } from './journal-files.ts';

const ALLOCATED_AT_ONCE = 256 * 1024;
const ZEROS = Buffer.alloc(ALLOCATED_AT_ONCE);

/**
 * Represents one file of a journal. Its room is written with zeros before it is promised, so that a disk that fills later still takes the promised
 * lines: file systems that write in place (ext4, xfs, tmpfs) need no new block for it, those that copy (btrfs, zfs) may.
 */
export class JournalFile {
  readonly number: number;
  readonly #disk: JournalDisk;
  readonly #descriptor: number;
  #bytes = 0;
  #allocated = 0;
  #isDirty = false;
  #isSyncing = false;
  #isClosing = false;

  constructor(folder: string, number: number, disk: JournalDisk) {
    this.number = number;
    this.#disk = disk;
    const path = journalPath(folder, number);
    this.#descriptor = disk.create(path);
    try {
      syncNames(folder, disk);
    } catch (error) {
      disk.close(this.#descriptor);
      disk.remove(path);
      throw error;
    }
  }

  /** Returns the bytes that were written so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the bytes that are allocated and not written. */
  get room(): number {
    return Math.max(0, this.#allocated - this.#bytes);
  }

  get isSynced(): boolean {
    return !this.#isDirty && !this.#isSyncing;
  }

  /** Allocates until there is at least this much room. Throws the disk's error; earlier room stays. */
  allocate(room: number): void {
    while (this.room < room) {
      const from = Math.max(this.#allocated, this.#bytes);
      this.#allocated = from + this.#disk.writeSync(this.#descriptor, ZEROS, 0, ZEROS.length, from);
      this.#isDirty = true;
    }
  }

  /** Throws the disk's error, after which the file must not be written again. */
  write(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length;) {
      const left = bytes.length - done;
      const written = this.#disk.writeSync(this.#descriptor, bytes, done, left, this.#bytes);
      if (written === 0) throw new Error('the disk wrote no byte and reported no error');
      done += written;
      this.#bytes += written;
      this.#isDirty = true;
    }
  }

  /** Throws the disk's error. After a failure the kernel may treat unwritten data as written, so no later call proves anything. */
  sync(): void {
    if (!this.#isDirty && !this.#isSyncing) return;
    this.#disk.fdatasyncSync(this.#descriptor);
    this.#isDirty = false;
  }

  /** Syncs in the background, unless nothing was written or a sync is running. Calls `done` when a sync has ended. */
  syncSoon(done: (error: Error | null) => void): void {
    if (!this.#isDirty || this.#isSyncing) return;
    this.#isSyncing = true;
    this.#isDirty = false;
    this.#disk.fdatasync(this.#descriptor, (error) => {
      this.#isSyncing = false;
      if (error) this.#isDirty = true;
      if (this.#isClosing) this.#disk.close(this.#descriptor);
      done(error);
    });
  }

  /** Releases the unused room. Never throws. */
  close(): void {
    try {
      if (this.room > 0) this.#disk.truncate(this.#descriptor, this.#bytes);
    } catch {
      // A journal's reader ignores zeros at the end.
    }
    if (this.#isSyncing) this.#isClosing = true;
    else this.#disk.close(this.#descriptor);
  }
}
