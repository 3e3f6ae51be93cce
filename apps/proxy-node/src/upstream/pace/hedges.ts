import type { FailoverSettings } from '@tollgate/snapshot';

type Cap = NonNullable<FailoverSettings['hedge']>;

/** Fewer first tokens say nothing about the slowest. */
const SAMPLES_MIN = 20;
const SAMPLES_MAX = 200;
const SLOWER_THAN = 0.95;
const HOUR_MS = 3_600_000;

interface ModelRecord {
  /** Holds the latencies of the last streams in ms; a new one overwrites the oldest. */
  samples: number[];
  next: number;
  hourEndsAt: number;
  streams: number;
  hedges: number;
  tokens: number;
}

/** Decides when a second upstream is asked for a model's stream, within a share of its streams and a number of tokens an hour. */
export class Hedges {
  readonly #models = new Map<number, ModelRecord>();
  readonly #workers: number;

  /** `workers` is the number of processes of the node, each of which has its part of the tokens. */
  constructor(workers = 1) {
    this.#workers = workers;
  }

  /** Notes the time until a stream's first content, from the only upstream that it asked. */
  observe(modelId: number, firstTokenMs: number): void {
    const record = this.#record(modelId);
    record.samples[record.next] = firstTokenMs;
    record.next = (record.next + 1) % SAMPLES_MAX;
  }

  /** Counts a stream and returns after how many ms it is slow; null when too little is known. */
  delayMs(modelId: number, now: number): number | null {
    const record = this.#ofThisHour(modelId, now);
    record.streams += 1;
    if (record.samples.length < SAMPLES_MIN) return null;
    const ordered = record.samples.toSorted((a, b) => a - b);
    return ordered[Math.floor(ordered.length * SLOWER_THAN)] ?? null;
  }

  /** Takes one hedge of this many tokens; returns false when the hour's share or tokens are used up. */
  take(modelId: number, { cap, tokens, now }: { cap: Cap; tokens: number; now: number }): boolean {
    const record = this.#ofThisHour(modelId, now);
    const isWithin =
      (record.hedges + 1) * 100 <= record.streams * cap.max_percent &&
      record.tokens + tokens <= cap.max_tokens_per_hour / this.#workers;
    if (!isWithin) return false;
    record.hedges += 1;
    record.tokens += tokens;
    return true;
  }

  #ofThisHour(modelId: number, now: number): ModelRecord {
    const record = this.#record(modelId);
    if (now >= record.hourEndsAt)
      Object.assign(record, { hourEndsAt: now + HOUR_MS, streams: 0, hedges: 0, tokens: 0 });
    return record;
  }

  #record(modelId: number): ModelRecord {
    let record = this.#models.get(modelId);
    if (!record) {
      record = { samples: [], next: 0, hourEndsAt: 0, streams: 0, hedges: 0, tokens: 0 };
      this.#models.set(modelId, record);
    }
    return record;
  }
}
