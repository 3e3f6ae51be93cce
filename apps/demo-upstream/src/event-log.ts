import type { ServerResponse } from 'node:http';

const SEQUENCE = /"sequence_number":(\d+)/;

/** The events of one response, for as many readers as come, at whatever time. */
export class EventLog {
  readonly #events: string[] = [];
  readonly #readers = new Set<() => void>();
  #isOver = false;

  /** One event or several. */
  add(text: string): void {
    this.#events.push(...text.split(/(?<=\n\n)/));
    for (const look of this.#readers) look();
  }

  end(): void {
    this.#isOver = true;
    for (const look of this.#readers) look();
  }

  /** Writes what comes after the event of that number, to its end; a reader that leaves ends nothing. */
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
