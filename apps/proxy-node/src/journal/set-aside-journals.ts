import { countSetAside } from './journal-files.ts';

const LOOK_MS = 60_000;

/** How many journal files wait for a person; looked at once a minute, as a person moves them away while the node runs. */
export class SetAsideJournals {
  readonly #dataDir: string;
  readonly #timer: NodeJS.Timeout;
  #count = 0;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
    this.#timer = setInterval(() => this.look(), LOOK_MS).unref();
  }

  get count(): number {
    return this.#count;
  }

  /** Keeps what it knew when the folder cannot be read. */
  look(): void {
    try {
      this.#count = countSetAside(this.#dataDir);
    } catch {
      // A folder that another worker is just removing.
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
