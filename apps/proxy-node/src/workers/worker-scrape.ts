import { joinExpositions } from '@tollgate/contracts';

/** Passes between a primary and its workers: a scrape reaches one worker, and is answered with what all of them count. */
type ScrapeMessage =
  /** A worker has figures to tell, from now on. */
  | { scrape: 'ready' }
  /** A worker was scraped and wants the figures of all workers; `gathered` answers it. */
  | { scrape: 'wanted'; id: number }
  | { scrape: 'gathered'; id: number; text: string }
  /** The primary asks each worker for its own; `answered` answers it. */
  | { scrape: 'asked'; id: number }
  | { scrape: 'answered'; id: number; text: string };

/** Is one end of the channel to another process. */
export interface ScrapePort {
  send(message: object): unknown;
}

/** Sends messages of a worker to its primary. */
export interface PrimaryPort extends ScrapePort {
  on(event: 'message', listener: (message: unknown) => void): unknown;
}

/** A worker that does not answer for so long is left out: the next scrape finds its figures again, under its own label. */
const TELL_MS = 1_000;
/** The primary waits this long for the slowest worker. */
const GATHER_MS = 2 * TELL_MS;

/** Gathers the metrics of all workers on the primary's side. */
export class ScrapeGatherer {
  readonly #ready = new Set<ScrapePort>();
  readonly #open = new Map<
    number,
    { texts: Map<ScrapePort, string>; waitsFor: Set<ScrapePort>; finish: () => void }
  >();
  #lastId = 0;

  /** Receives a worker's answer; other messages are none of its business. */
  receive(from: ScrapePort, message: unknown): void {
    if (!isScrapeMessage(message)) return;
    if (message.scrape === 'ready') this.#ready.add(from);
    else if (message.scrape === 'wanted')
      void this.#gather().then(
        (text) =>
          this.#ready.has(from) &&
          from.send({ scrape: 'gathered', id: message.id, text } satisfies ScrapeMessage),
      );
    else if (message.scrape === 'answered') this.#answered(from, message);
  }

  /** Forgets a worker that is gone. */
  forget(worker: ScrapePort): void {
    this.#ready.delete(worker);
    for (const { waitsFor, finish } of this.#open.values())
      if (waitsFor.delete(worker) && waitsFor.size === 0) finish();
  }

  async #gather(): Promise<string> {
    const id = (this.#lastId += 1);
    const texts = new Map<ScrapePort, string>();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, TELL_MS);
    this.#open.set(id, { texts, waitsFor: new Set(this.#ready), finish: resolve });
    for (const worker of this.#ready) worker.send({ scrape: 'asked', id } satisfies ScrapeMessage);
    await promise;
    clearTimeout(timer);
    this.#open.delete(id);
    return joinExpositions([...this.#ready].flatMap((worker) => texts.get(worker) ?? []));
  }

  #answered(from: ScrapePort, { id, text }: { id: number; text: string }): void {
    const open = this.#open.get(id);
    if (!open) return;
    open.texts.set(from, text);
    if (open.waitsFor.delete(from) && open.waitsFor.size === 0) open.finish();
  }
}

/**
 * Joins on a worker's side: sends its own figures to the primary whenever it asks. The function given back answers a scrape with those of all workers;
 * it rejects when the primary does not answer.
 */
export function joinScrapes(
  primary: PrimaryPort,
  own: () => Promise<string>,
): () => Promise<string> {
  const waiting = new Map<number, (text: string) => void>();
  let lastId = 0;
  primary.on('message', (message) => {
    if (!isScrapeMessage(message)) return;
    if (message.scrape === 'asked')
      void own().then((text) =>
        primary.send({ scrape: 'answered', id: message.id, text } satisfies ScrapeMessage),
      );
    else if (message.scrape === 'gathered') waiting.get(message.id)?.(message.text);
  });
  primary.send({ scrape: 'ready' } satisfies ScrapeMessage);
  return async () => {
    const id = (lastId += 1);
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const timer = setTimeout(() => reject(new Error('the primary does not answer')), GATHER_MS);
    waiting.set(id, resolve);
    primary.send({ scrape: 'wanted', id } satisfies ScrapeMessage);
    return promise.finally(() => {
      clearTimeout(timer);
      waiting.delete(id);
    });
  };
}

/** Sent by this very program, so the name is enough. */
function isScrapeMessage(message: unknown): message is ScrapeMessage {
  return typeof message === 'object' && message !== null && 'scrape' in message;
}
