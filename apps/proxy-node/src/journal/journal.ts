import { LOCAL_DISK, type JournalDisk } from './journal-disk.ts';
import { JournalFile } from './journal-file.ts';
import { deleteJournalFile, retireJournalFiles } from './journal-files.ts';
import { lockJournal, type JournalLock } from './journal-lock.ts';
import type { JournalOptions } from './journal-options.ts';
import { readJournals } from './journal-reading.ts';
import type { Replay } from './journal-replay.ts';
import { LivePlaces, type JournalPlace } from './live-places.ts';
import { Beat, SYSTEM_TIMERS, type Timers } from '../timers.ts';
import { WaitingLines } from './waiting-lines.ts';

const FILE_BYTES_MAX = 16 * 1024 * 1024;
const TICK_MS = 100;
/** A journal waits this long for a predecessor that is still ending. */
const LOCK_WAIT_MS = 10_000;
/** Is the number of files from which on live lines of the oldest are written again, so that it can be deleted. */
const FILES_CROWDED = 4;
const CARRY_LINES_MAX = 2_000;
/** Is the room for the final of each running request; a final with a few attempts takes under 1 KiB. */
const FINAL_BYTES = 2 * 1024;
/** Is further room for requests that are admitted in the tick in which the disk turns out to be full. */
const SPARE_BYTES = 128 * 1024;

/**
 * Keeps the node's append-only file of what Redis could lose. Lines of one tick of the event loop are written with one call, which survives kill -9;
 * a power loss costs at most the last 100 ms. Room for the finals of running requests is allocated ahead. While the journal cannot be written,
 * `isWritable` is false, new requests are refused, and its lines wait. A file that failed is replaced, with what lives in it, before others are admitted.
 */
export class Journal {
  /** Is called with a file that must be deleted: the owner appends its live lines again and releases the old ones. */
  onCarry: (place: JournalPlace) => void = () => undefined;
  readonly #folder: string;
  readonly #log: JournalOptions['log'];
  readonly #fileBytesMax: number;
  readonly #disk: JournalDisk;
  readonly #lock: JournalLock;
  readonly #live = new LivePlaces();
  #file: JournalFile;
  /** Holds the files that are full and not yet known to be on disk. */
  readonly #finished = new Set<JournalFile>();
  /** Holds the files on which a write or a sync failed. */
  readonly #distrusted = new Set<JournalPlace>();
  readonly #lines = new WaitingLines();
  #afterWrite: (() => void)[] = [];
  #isFlushPlanned = false;
  #runningRequests = 0;
  #isRoomShort = false;
  #mayRotate = true;
  readonly #timers: Timers;
  readonly #ticking: Beat;

  /** Locks the folder and reads a predecessor's lines. The caller appends live ones, then calls `retire`, which throws when they are not on disk. */
  static async open(
    options: JournalOptions,
  ): Promise<{ journal: Journal; replay: Replay; retire: () => void }> {
    const lock = await lockJournal(options.folder, LOCK_WAIT_MS, options);
    try {
      const { replay, numbers, damaged } = readJournals(options.folder, options.disk);
      const journal = new Journal(options, lock, (numbers.at(-1) ?? 0) + 1);
      return {
        journal,
        replay,
        retire: () => {
          journal.sync();
          retireJournalFiles(options.folder, { numbers, damaged }, journal.#disk);
        },
      };
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  private constructor(options: JournalOptions, lock: JournalLock, firstNumber: number) {
    this.#folder = options.folder;
    this.#log = options.log;
    this.#fileBytesMax = options.fileBytesMax ?? FILE_BYTES_MAX;
    this.#disk = options.disk ?? LOCAL_DISK;
    this.#timers = options.timers ?? SYSTEM_TIMERS;
    this.#lock = lock;
    this.#file = this.#startFile(firstNumber);
    this.#ticking = new Beat(this.#timers, TICK_MS, () => this.#tick());
    this.#makeRoom(0);
    this.#ticking.begin();
  }

  get isWritable(): boolean {
    return !this.#isRoomShort && this.#distrusted.size === 0;
  }

  /** Reserves room for the final of an admitted request. */
  keepRoom(): void {
    this.#runningRequests += 1;
  }

  /** Releases that room; its final is appended in this tick. */
  giveRoom(): void {
    this.#runningRequests -= 1;
  }

  /** Appends a line, which is written at the end of this tick; while the disk is full it waits for room. */
  append(line: string): void {
    this.#lines.add(line, false);
    this.#planFlush();
  }

  /**
   * Appends an admission or a final, which must outlive other lines of its file and may use reserved room. `afterWrite` runs at the end of this tick,
   * also when the write failed, because what follows a final must not wait for a full disk.
   */
  appendLive(line: string, afterWrite?: () => void): JournalPlace {
    this.#lines.add(line, true);
    if (afterWrite) this.#afterWrite.push(afterWrite);
    this.#planFlush();
    return this.#live.note(this.#file.number);
  }

  release(place: JournalPlace): void {
    this.#live.release(place);
    this.#ticking.begin();
  }

  flush(): void {
    this.#isFlushPlanned = false;
    this.#write();
    const callbacks = this.#afterWrite;
    this.#afterWrite = [];
    for (const callback of callbacks) callback();
    if (this.#file.bytes >= this.#fileBytesMax && this.#mayRotate && this.isWritable)
      this.#rotate();
  }

  /** Flushes and syncs everything. Throws the disk's error, also when something could not be written. */
  sync(): void {
    this.flush();
    if (this.#lines.count > 0 || this.#distrusted.size > 0)
      throw new Error(`${this.#lines.count} lines of the journal could not be written`);
    for (const file of [...this.#finished, this.#file]) {
      try {
        file.sync();
      } catch (error) {
        this.#distrust(file, error);
        throw error;
      }
    }
  }

  close(): void {
    this.#ticking.end();
    try {
      this.sync();
      this.#delete(this.#live.deadBefore(this.#file.number));
    } catch (error) {
      this.#log.error({ err: error }, 'journal could not be synced at shutdown');
    }
    for (const file of [...this.#finished, this.#file]) file.close();
    this.#lock.release();
  }

  #planFlush(): void {
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    this.#ticking.begin();
    this.#timers.soon(() => this.flush());
  }

  /** When room is short, live lines come first, because the room was reserved for them. */
  #write(): void {
    if (this.#lines.count === 0 || this.#distrusted.size > 0) return;
    const { bytes } = this.#lines;
    const isRoomForAll = this.#makeRoom(bytes) || this.#file.room - bytes >= this.#keptBytes;
    const write = (text: Buffer): void => this.#file.write(text);
    try {
      if (isRoomForAll) this.#lines.writeAll(write);
      else this.#lines.writeLive(this.#file.room, write);
    } catch (error) {
      // The file may have a part of it, so all of it is written again into the next file.
      this.#distrust(this.#file, error);
    }
  }

  get #keptBytes(): number {
    return this.#runningRequests * FINAL_BYTES;
  }

  #makeRoom(bytes: number): boolean {
    try {
      this.#file.allocate(bytes + this.#keptBytes + SPARE_BYTES);
      if (this.#isRoomShort) this.#log.warn('the journal has free space again');
      this.#isRoomShort = false;
    } catch (error) {
      if (!this.#isRoomShort)
        this.#log.error(
          { err: error },
          'journal cannot be written: new requests are refused until there is space for their finals',
        );
      this.#isRoomShort = true;
    }
    return !this.#isRoomShort;
  }

  /** Returns false when there is nothing to do until the next line, or the next release of one. */
  #tick(): boolean {
    this.#mayRotate = true;
    if (this.#distrusted.size > 0) return this.#replaceFile();
    if (this.#isRoomShort && this.#makeRoom(0)) this.#write();
    for (const file of this.#finished) {
      if (file.isSynced) this.#closeFinished(file);
      else file.syncSoon((error) => error && this.#distrust(file, error));
    }
    this.#syncCurrent();
    if (!this.#file.isSynced || this.#finished.size > 0) return true;
    return this.#isRoomShort || this.#lines.count > 0;
  }

  /** A file is deleted only after the lines that replace its own are on disk. */
  #syncCurrent(): void {
    const file = this.#file;
    const isAllHere = !this.#lines.hasLive && this.#finished.size === 0;
    const dead = isAllHere ? this.#live.deadBefore(file.number) : [];
    if (file.isSynced) return this.#delete(dead);
    file.syncSoon((error) => {
      if (error) this.#distrust(file, error);
      else this.#delete(dead);
    });
  }

  #closeFinished(file: JournalFile): void {
    this.#finished.delete(file);
    file.close();
  }

  #distrust(file: JournalFile, error: unknown): void {
    if (this.#distrusted.size === 0)
      this.#log.error(
        { err: error },
        'journal cannot be written: new requests are refused until a new file is in place',
      );
    this.#distrusted.add(file.number);
    this.#ticking.begin();
  }

  /** Writes the live lines of the failed files into a new file, which is on disk before requests are admitted. */
  #replaceFile(): true {
    if (!this.#startNextFile()) return true;
    const distrusted = [...this.#distrusted];
    this.#distrusted.clear();
    for (const place of distrusted) this.onCarry(place);
    try {
      this.sync();
      this.#log.warn('the journal continues in a new file');
    } catch {
      for (const place of distrusted) this.#distrusted.add(place);
    }
    return true;
  }

  #rotate(): void {
    if (!this.#startNextFile()) return;
    const { oldest } = this.#live;
    if (oldest && this.#live.size > FILES_CROWDED && oldest.lines <= CARRY_LINES_MAX)
      this.onCarry(oldest.place);
  }

  /** Returns false when the disk has no room for one; the old file continues. */
  #startNextFile(): boolean {
    const finished = this.#file;
    let next: JournalFile | undefined;
    try {
      next = this.#startFile(finished.number + 1);
      next.allocate(this.#keptBytes + SPARE_BYTES);
    } catch (error) {
      next?.close();
      if (next) this.#delete([next.number]);
      this.#mayRotate = false;
      this.#log.error({ err: error }, 'journal could not start a new file');
      return false;
    }
    this.#file = next;
    if (this.#distrusted.has(finished.number)) finished.close();
    else this.#finished.add(finished);
    for (const file of this.#finished)
      if (this.#distrusted.has(file.number)) this.#closeFinished(file);
    return true;
  }

  #startFile(number: number): JournalFile {
    const file = new JournalFile(this.#folder, number, this.#disk);
    this.#live.begin(number);
    return file;
  }

  #delete(places: readonly JournalPlace[]): void {
    for (const place of places) {
      deleteJournalFile(this.#folder, place, this.#disk);
      this.#live.forget(place);
    }
  }
}
