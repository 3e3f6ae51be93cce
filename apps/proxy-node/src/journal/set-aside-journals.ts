import type { JournalDisk } from './journal-disk.ts';
import { countSetAside } from './journal-files.ts';
import type { Timers } from '../timers.ts';

const LOOK_MS = 60_000;

/** Counts once a minute the journal files that wait for a person, who removes them while the node runs. */
export class SetAsideJournals {
  readonly #dataDir: string;
  readonly #disk: JournalDisk;
  readonly #stopLooking: () => void;
  #count = 0;

  constructor({ dataDir, disk, timers }: { dataDir: string; disk: JournalDisk; timers: Timers }) {
    this.#dataDir = dataDir;
    this.#disk = disk;
    this.#stopLooking = timers.every(LOOK_MS, () => this.look());
  }

  get count(): number {
    return this.#count;
  }

  /** Keeps the last count when the folder cannot be read. */
  look(): void {
    try {
      this.#count = countSetAside(this.#dataDir, this.#disk);
    } catch {
      // Another worker may be removing the folder.
    }
  }

  close(): void {
    this.#stopLooking();
  }
}
