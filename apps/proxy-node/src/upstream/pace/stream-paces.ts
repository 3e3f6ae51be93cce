/** Fewer streams say nothing of the slowest. */
const SAMPLES_MIN = 20;
const SAMPLES_MAX = 200;
const SLOWEST = 0.99;
const SLACK = 1.5;
/** The slowest of the samples is sought again after so many new ones. */
const STALE_AFTER = 10;
const LIMIT_MIN_MS = 3_000;
const FIRST_TOKEN_MAX_MS = 15_000;
const SILENCE_MAX_MS = 20_000;
const HOUR_MS = 3_600_000;
/** A share of few streams is none: a process that has just started may give up this many. */
const ABANDONED_MIN = 10;
const ABANDONED_PERCENT = 5;
/** Tokens an hour that the providers of one model may bill for streams that were given up, estimated, per node. */
export const ABANDONED_TOKENS_MAX = 5_000_000;
/** Prompt tokens below which a prompt is of a class. */
const PROMPT_CLASSES = [1_024, 8_192, 65_536] as const;

/** Holds how long one thing took on the last streams, in ms, and the limit that follows. */
class Waits {
  readonly #samples = new Float64Array(SAMPLES_MAX);
  readonly #maxMs: number;
  #count = 0;
  #unsorted = 0;
  limitMs: number;

  constructor(maxMs: number) {
    this.#maxMs = maxMs;
    this.limitMs = maxMs;
  }

  observe(ms: number): void {
    this.#samples[this.#count % SAMPLES_MAX] = ms;
    this.#count += 1;
    this.#unsorted += 1;
    if (this.#count < SAMPLES_MIN || this.#unsorted < STALE_AFTER) return;
    this.#unsorted = 0;
    const known = this.#samples.slice(0, Math.min(this.#count, SAMPLES_MAX)).sort();
    const slowest = known[Math.ceil(known.length * SLOWEST) - 1] ?? this.#maxMs;
    this.limitMs = Math.min(this.#maxMs, Math.max(LIMIT_MIN_MS, slowest * SLACK));
  }
}

/** Counts the streams of one model in this hour, and those that were given up for another route's sake. */
class Allowance {
  readonly #tokensMax: number;
  #hourEndsAt = 0;
  #streams = 0;
  #abandoned = 0;
  #tokens = 0;

  constructor(tokensMax: number) {
    this.#tokensMax = tokensMax;
  }

  turn(now: number): void {
    if (now < this.#hourEndsAt) return;
    this.#hourEndsAt = now + HOUR_MS;
    this.#streams = 0;
    this.#abandoned = 0;
    this.#tokens = 0;
  }

  began(): void {
    this.#streams += 1;
  }

  /** Takes one stream of so many tokens; false when the hour's share or tokens are used up. */
  take(tokens: number): boolean {
    const share = Math.max(ABANDONED_MIN, (this.#streams * ABANDONED_PERCENT) / 100);
    if (this.#abandoned + 1 > share || !this.takeTokens(tokens)) return false;
    this.#abandoned += 1;
    return true;
  }

  takeTokens(tokens: number): boolean {
    if (this.#tokens + tokens > this.#tokensMax) return false;
    this.#tokens += tokens;
    return true;
  }
}

/** Knows how fast streams of one route and class of prompt size are, and when one is given up for another route's sake. */
export class StreamPace {
  readonly #firstTokens = new Waits(FIRST_TOKEN_MAX_MS);
  readonly #silences = new Waits(SILENCE_MAX_MS);
  readonly #allowance: Allowance;

  constructor(allowance: Allowance) {
    this.#allowance = allowance;
  }

  get firstTokenMs(): number {
    return this.#firstTokens.limitMs;
  }

  get silenceMs(): number {
    return this.#silences.limitMs;
  }

  /** `silenceMs`: the longest of a stream that has ended. */
  observe({ firstTokenMs, silenceMs }: { firstTokenMs: number; silenceMs: number }): void {
    this.#firstTokens.observe(firstTokenMs);
    this.#silences.observe(silenceMs);
  }

  /** A stream without content has reached the limit, which counts as a sample. `tokens`: what its provider may bill. */
  abandonsUnbegun(tokens: number): boolean {
    if (!this.#allowance.take(tokens)) return false;
    this.#firstTokens.observe(this.firstTokenMs);
    return true;
  }

  /** A stream has been silent up to the limit, which counts as a sample. */
  abandonsSilent(tokens: number): boolean {
    if (!this.#allowance.take(tokens)) return false;
    this.#silences.observe(this.silenceMs);
    return true;
  }
}

/** Watches one stream by the pace of its route, and adds to it. */
export class PacedStream {
  readonly #pace: StreamPace;
  readonly #tokens: number;
  readonly #silenceMs: number;
  /** Ms from the start; negative before there is content. */
  #contentMs = -1;
  #longestSilenceMs = 0;

  /** `tokens`: what its provider may bill if it is given up. `isContinued`: another upstream may continue its answer; else a silence is only cut late. */
  constructor(pace: StreamPace, { tokens, isContinued }: { tokens: number; isContinued: boolean }) {
    this.#pace = pace;
    this.#tokens = tokens;
    this.#silenceMs = isContinued ? pace.silenceMs : SILENCE_MAX_MS;
  }

  sawContent(afterMs: number): void {
    if (this.#contentMs < 0) this.#contentMs = afterMs;
  }

  sawBytes(afterSilenceMs: number): void {
    if (this.#contentMs >= 0 && afterSilenceMs > this.#longestSilenceMs)
      this.#longestSilenceMs = afterSilenceMs;
  }

  /** It has ended well. */
  ended(): void {
    if (this.#contentMs < 0) return;
    this.#pace.observe({ firstTokenMs: this.#contentMs, silenceMs: this.#longestSilenceMs });
  }

  /** Is true once the stream is slower than its route's pace, and the model's allowance permits to give it up. */
  isOutpaced(sinceStartMs: number, silentMs: number): boolean {
    if (this.#contentMs < 0)
      return sinceStartMs > this.#pace.firstTokenMs && this.#pace.abandonsUnbegun(this.#tokens);
    return silentMs > this.#silenceMs && this.#pace.abandonsSilent(this.#tokens);
  }
}

/** Keeps the pace of each route by class of prompt size, and the allowance of each model. Sized by the installation's routes and models. */
export class StreamPaces {
  readonly #paces = new Map<number, StreamPace>();
  readonly #allowances = new Map<number, Allowance>();
  readonly #tokensMax: number;

  /** `workers`: processes of the node, each of which has its part of the tokens. */
  constructor(workers = 1) {
    this.#tokensMax = ABANDONED_TOKENS_MAX / workers;
  }

  /** Counts a stream that begins now, and returns the pace that judges it. */
  began(
    { modelId, routeId }: { modelId: number; routeId: number },
    promptTokens: number,
    now: number,
  ): StreamPace {
    const allowance = this.#allowanceOf(modelId, now);
    allowance.began();
    const key = routeId * (PROMPT_CLASSES.length + 1) + classOf(promptTokens);
    let pace = this.#paces.get(key);
    if (!pace) this.#paces.set(key, (pace = new StreamPace(allowance)));
    return pace;
  }

  /** Takes tokens that a provider may bill for a continuation; false when the hour's are used up. */
  takes(modelId: number, tokens: number, now: number): boolean {
    return this.#allowanceOf(modelId, now).takeTokens(tokens);
  }

  #allowanceOf(modelId: number, now: number): Allowance {
    let allowance = this.#allowances.get(modelId);
    if (!allowance) this.#allowances.set(modelId, (allowance = new Allowance(this.#tokensMax)));
    allowance.turn(now);
    return allowance;
  }
}

function classOf(promptTokens: number): number {
  const at = PROMPT_CLASSES.findIndex((below) => promptTokens < below);
  return at < 0 ? PROMPT_CLASSES.length : at;
}
