import { TokenCounter } from '@tollgate/metering/token-counter';
import type { StreamSink } from '@tollgate/protocols';

/** Counts what a client is shown of an unsettled answer, and returns on request the count of all of it from its first event. */
export class ShownCounter implements StreamSink {
  readonly #counter = new TokenCounter();
  readonly #onShown: (tokens: number) => void;
  #reported = 0;

  constructor(onShown: (tokens: number) => void) {
    this.#onShown = onShown;
  }

  output(text: string): void {
    this.#counter.push(text);
  }

  report(): void {
    this.#report(this.#counter.tokens);
  }

  end(): void {
    this.#report(this.#counter.finish());
  }

  #report(tokens: number): void {
    if (tokens <= this.#reported) return;
    this.#reported = tokens;
    this.#onShown(tokens);
  }
}
