import type { ServerResponse } from 'node:http';

const SEQUENCE = /"sequence_number":(\d+)/;

/** Keeps the events of one response for any number of readers, at any time. */
export class EventLog {
  readonly #events: string[] = [];
  readonly #readers = new Set<() => void>();
  #isOver = false;

  /** Adds one event or several. */
  add(text: string): void {
    this.#events.push(...text.split(/(?<=\n\n)/));
    for (const look of this.#readers) look();
  }

  end(): void {
    this.#isOver = true;
    for (const look of this.#readers) look();
  }

  /** Writes the events after that number, to the end; a reader that leaves ends nothing. */
  follow(response: ServerResponse, after = -1): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let next = 0;
    const look = (): void => {
      for (; next < this.#events.length; next += 1) {
        const event = this.#events[next] ?? '';
        if (Number(SEQUENCE.exec(event)?.[1] ?? 0) > after) response.write(event);
      }
      if (this.#isOver) response.end();
    };
    this.#readers.add(look);
    response.once('close', () => this.#readers.delete(look));
    look();
  }
}
