const LOOK_MS = 500;
/** Limits the time that a server may owe an answer that it gives at once. */
export const SILENCE_MS = 3_000;

interface SilenceWatchOptions {
  owes: () => boolean;
  onSilent: () => void;
  silenceMs?: number;
}

/**
 * Notices a server that owes answers and sends nothing. Counted in looks and not in time: between two looks the event loop reads what has arrived, so a
 * process that was paused itself, or waited for a core, does not take its own silence for the server's.
 */
export class SilenceWatch {
  readonly #owes: () => boolean;
  readonly #onSilent: () => void;
  readonly #timer: NodeJS.Timeout;
  readonly #looksMax: number;
  #looks = 0;

  /** `onSilent` is called once, `silenceMs` to half a second more after the last answer or the first call that has none, and the watch has then ended. */
  constructor({ owes, onSilent, silenceMs = SILENCE_MS }: SilenceWatchOptions) {
    this.#looksMax = silenceMs / LOOK_MS;
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
    if (this.#looks <= this.#looksMax) return;
    this.end();
    this.#onSilent();
  }
}
