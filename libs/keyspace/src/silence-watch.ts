const LOOK_MS = 500;
/** Three seconds. */
const SILENT_LOOKS_MAX = 6;

/**
 * Notices a server that owes answers and sends nothing. Counted in looks and not in time: between two looks the event loop reads what has arrived, so a
 * process that was paused itself, or waited for a core, does not take its own silence for the server's.
 */
export class SilenceWatch {
  readonly #owes: () => boolean;
  readonly #onSilent: () => void;
  readonly #timer: NodeJS.Timeout;
  #looks = 0;

  /** `onSilent` is called once, 3 to 3.5 s after the last answer or the first call that has none, and the watch has then ended. */
  constructor({ owes, onSilent }: { owes: () => boolean; onSilent: () => void }) {
    this.#owes = owes;
    this.#onSilent = onSilent;
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  heard(): void {
    this.#looks = 0;
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    this.#looks = this.#owes() ? this.#looks + 1 : 0;
    if (this.#looks <= SILENT_LOOKS_MAX) return;
    this.end();
    this.#onSilent();
  }
}
