import { closeSync, fdatasync, fdatasyncSync, writeSync } from 'node:fs';
import type { Logger } from 'pino';
import {
  createJournalFile,
  deleteJournalFile,
  journalFileNumbers,
  readJournalFile,
} from './journal-files.ts';
import { lockJournal, type JournalLock } from './journal-lock.ts';
import { emptyReplay, replayText, type Replay } from './journal-replay.ts';

const FILE_BYTES_MAX = 16 * 1024 * 1024;
const SYNC_INTERVAL_MS = 100;
/** How long to wait for a predecessor that is still ending. */
const LOCK_WAIT_MS = 10_000;
/** From so many files on, what little still lives in the oldest is written again so that it can go. */
const FILES_CROWDED = 4;
const CARRY_LINES_MAX = 2_000;

/** Names the file a live line is in; given back with `release` when the line no longer matters. */
export type JournalPlace = number;

export interface JournalOptions {
  folder: string;
  log: Pick<Logger, 'error' | 'warn' | 'info'>;
  fileBytesMax?: number;
}

/**
 * The node's append-only file of what Redis could lose (docs/design/metering.md#journal). Lines of one tick of the event loop are written with one call,
 * which survives kill -9; a power loss costs at most the last 100 ms. A journal that cannot be written never stops the process:
 * `isWritable` turns false, new requests are refused, and what could not be written is kept and tried again.
 */
export class Journal {
  /** Called with the oldest file when it holds up the others: the owner appends its live lines again and releases the old ones. */
  onCrowded: (place: JournalPlace) => void = () => undefined;
  readonly #folder: string;
  readonly #log: JournalOptions['log'];
  readonly #fileBytesMax: number;
  readonly #lock: JournalLock;
  /** Live lines by file, oldest first. Files are deleted from the front only, so an acknowledgement is never gone before its final. */
  readonly #live = new Map<JournalPlace, number>();
  #current = 0;
  #descriptor = -1;
  #fileBytes = 0;
  #lines: string[] = [];
  #afterWrite: (() => void)[] = [];
  #unwritten: Buffer = Buffer.alloc(0);
  #isFlushPlanned = false;
  #isDirty = false;
  #isSyncing = false;
  #writable = true;
  readonly #syncTimer: NodeJS.Timeout;

  /** Locks the folder and reads what a predecessor left. The caller appends what is still live, then calls `retire`, which throws, and deletes nothing, when that is not on disk. */
  static async open(
    options: JournalOptions,
  ): Promise<{ journal: Journal; replay: Replay; retire: () => void }> {
    const lock = await lockJournal(options.folder, LOCK_WAIT_MS);
    const { replay, numbers } = readJournals(options.folder);
    const journal = new Journal(options, lock, (numbers.at(-1) ?? 0) + 1);
    return {
      journal,
      replay,
      retire: () => {
        journal.sync();
        for (const number of numbers) deleteJournalFile(options.folder, number);
      },
    };
  }

  private constructor(options: JournalOptions, lock: JournalLock, firstNumber: number) {
    this.#folder = options.folder;
    this.#log = options.log;
    this.#fileBytesMax = options.fileBytesMax ?? FILE_BYTES_MAX;
    this.#lock = lock;
    this.#startFile(firstNumber);
    this.#syncTimer = setInterval(() => this.#syncSoon(), SYNC_INTERVAL_MS).unref();
  }

  get isWritable(): boolean {
    return this.#writable;
  }

  /** Written at the end of this tick. `afterWrite` runs then, also when the write failed: what follows a final must not wait for a full disk. */
  append(line: string, afterWrite?: () => void): void {
    this.#lines.push(line);
    if (afterWrite) this.#afterWrite.push(afterWrite);
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    setImmediate(() => this.flush());
  }

  /** As `append`, for a line that must outlive its file's neighbours: admissions and finals. */
  appendLive(line: string, afterWrite?: () => void): JournalPlace {
    this.append(line, afterWrite);
    this.#live.set(this.#current, (this.#live.get(this.#current) ?? 0) + 1);
    return this.#current;
  }

  release(place: JournalPlace): void {
    const left = (this.#live.get(place) ?? 0) - 1;
    if (this.#live.has(place)) this.#live.set(place, left);
    this.#deleteDeadFiles();
  }

  flush(): void {
    this.#isFlushPlanned = false;
    const { length } = this.#lines;
    if (length > 0) {
      const fresh = Buffer.from(this.#lines.join(''));
      this.#unwritten =
        this.#unwritten.length === 0 ? fresh : Buffer.concat([this.#unwritten, fresh]);
      this.#lines = [];
    }
    this.#write();
    const callbacks = this.#afterWrite;
    this.#afterWrite = [];
    for (const callback of callbacks) callback();
    if (this.#fileBytes >= this.#fileBytesMax && this.#unwritten.length === 0) this.#rotate();
  }

  /** Flushes and puts everything on disk. Throws what the disk says, also when something could not be written. */
  sync(): void {
    this.flush();
    if (this.#unwritten.length > 0)
      throw new Error(`${this.#unwritten.length} bytes of the journal could not be written`);
    fdatasyncSync(this.#descriptor);
    this.#isDirty = false;
  }

  close(): void {
    clearInterval(this.#syncTimer);
    try {
      this.sync();
    } catch (error) {
      this.#log.error({ error }, 'journal could not be synced at shutdown');
    }
    closeSync(this.#descriptor);
    this.#lock.release();
  }

  /** A short write leaves the rest to be appended next time, right behind it: the file never has a hole. */
  #write(): void {
    try {
      while (this.#unwritten.length > 0) {
        const written = writeSync(this.#descriptor, this.#unwritten);
        this.#unwritten = this.#unwritten.subarray(written);
        this.#fileBytes += written;
        this.#isDirty = true;
      }
      if (!this.#writable) this.#log.warn('journal can be written again');
      this.#writable = true;
    } catch (error) {
      if (this.#writable)
        this.#log.error(
          { error },
          'journal cannot be written: new requests are refused until it can',
        );
      this.#writable = false;
    }
  }

  #syncSoon(): void {
    if (!this.#writable) this.#write();
    if (!this.#isDirty || this.#isSyncing) return;
    this.#isSyncing = true;
    this.#isDirty = false;
    fdatasync(this.#descriptor, (error) => {
      this.#isSyncing = false;
      // A file rotated away meanwhile was synced by the rotation.
      if (error && error.code !== 'EBADF')
        this.#log.error({ error }, 'journal could not be synced');
    });
  }

  #rotate(): void {
    const finished = this.#descriptor;
    try {
      this.#startFile(this.#current + 1);
    } catch (error) {
      this.#log.error({ error }, 'journal could not start a new file and goes on with the old one');
      return;
    }
    fdatasync(finished, () => closeSync(finished));
    this.#deleteDeadFiles();
    const [oldest] = this.#live;
    if (this.#live.size > FILES_CROWDED && oldest && oldest[1] <= CARRY_LINES_MAX)
      this.onCrowded(oldest[0]);
  }

  #startFile(number: number): void {
    this.#descriptor = createJournalFile(this.#folder, number);
    this.#current = number;
    this.#fileBytes = 0;
    this.#live.set(number, 0);
  }

  #deleteDeadFiles(): void {
    for (const [number, lines] of this.#live) {
      if (lines > 0 || number === this.#current) return;
      deleteJournalFile(this.#folder, number);
      this.#live.delete(number);
    }
  }
}

/** Everything the files of a journal folder say, oldest first. */
export function readJournals(folder: string): { replay: Replay; numbers: number[] } {
  const numbers = journalFileNumbers(folder);
  const replay = emptyReplay();
  for (const number of numbers) replayText(replay, readJournalFile(folder, number));
  return { replay, numbers };
}
