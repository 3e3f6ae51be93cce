import { createHash } from 'node:crypto';

/** Is captured before a test forbids the global ones. */
const nextTurn = setImmediate;
const TRACED_AT_ONCE = 65_536;

interface Event {
  atMs: number;
  order: number;
  label: string;
  act: () => void;
  isCancelled: boolean;
}

/**
 * Owns time: everything that happens is an event of this queue, one at a time in the order of their moments. Between two events all promises
 * that can go on have gone on.
 */
export class Scheduler {
  readonly #heap: Event[] = [];
  readonly #trace = createHash('sha256');
  /** Goes to the hash in pieces: a call for each event takes longer than its event. */
  #untraced = '';
  #nowMs: number;
  #order = 0;
  #steps = 0;

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  get steps(): number {
    return this.#steps;
  }

  /** Returns a hash of all events that have happened: the same seed gives the same. */
  get traceHash(): string {
    this.#trace.update(this.#untraced);
    this.#untraced = '';
    return this.#trace.copy().digest('hex').slice(0, 16);
  }

  note(what: string): void {
    this.#untraced += what;
    if (this.#untraced.length < TRACED_AT_ONCE) return;
    this.#trace.update(this.#untraced);
    this.#untraced = '';
  }

  /** Returns what cancels it. */
  after(ms: number, label: string, act: () => void): () => void {
    const event = {
      atMs: this.#nowMs + Math.max(0, ms),
      order: (this.#order += 1),
      label,
      act,
      isCancelled: false,
    };
    push(this.#heap, event);
    return () => void (event.isCancelled = true);
  }

  /** Runs one event and all that follows from it at once. Returns false when there is none before `untilMs`. */
  async step(untilMs: number): Promise<boolean> {
    for (let event = this.#heap[0]; event && event.atMs <= untilMs; event = this.#heap[0]) {
      pop(this.#heap);
      if (event.isCancelled) continue;
      this.#nowMs = event.atMs;
      this.#steps += 1;
      this.note(`${event.atMs}|${event.label}\n`);
      event.act();
      await new Promise<void>((resolve) => nextTurn(resolve));
      return true;
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
    return false;
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}

function push(heap: Event[], event: Event): void {
  let index = heap.push(event) - 1;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = heap[parent] as Event;
    if (!isBefore(event, above)) break;
    heap[index] = above;
    index = parent;
  }
  heap[index] = event;
}

function pop(heap: Event[]): void {
  const last = heap.pop() as Event;
  if (heap.length === 0) return;
  let index = 0;
  for (;;) {
    const left = 2 * index + 1;
    if (left >= heap.length) break;
    const right = left + 1;
    const smaller =
      right < heap.length && isBefore(heap[right] as Event, heap[left] as Event) ? right : left;
    if (!isBefore(heap[smaller] as Event, last)) break;
    heap[index] = heap[smaller] as Event;
    index = smaller;
  }
  heap[index] = last;
}
