/** Fewer attempts say nothing about the slowest. */
const SAMPLES_MIN = 20;
const SAMPLES_MAX = 200;
const SLOWEST = 0.99;
const SLACK = 1.5;
/** The slowest sample is computed again after this many new ones. */
const STALE_AFTER = 10;
/** Holds the bounds of the size classes: prompt tokens of a stream, or possible output tokens of a JSON answer. */
const CLASSES = [1_024, 8_192, 65_536] as const;
/** From this class on, JSON answers may take minutes. */
const LONG_CLASS = 2;
const HOUR_MS = 3_600_000;
/** A share of few requests would be zero, so a process that has just started may abandon this many. */
const ABANDONED_MIN = 10;
const ABANDONED_PERCENT = 5;
/** Bounds the estimated tokens an hour that one model's providers may bill for abandoned attempts, per node. */
export const ABANDONED_TOKENS_MAX = 5_000_000;

/** Bounds a learned limit, in ms. `startMs` applies until enough is known. */
interface Bounds {
  readonly startMs: number;
  readonly minMs: number;
  readonly maxMs: number;
}

/** Bounds the time to the first content, and later silences. The content of a JSON answer is its end. */
interface PaceBounds {
  readonly content: Bounds;
  readonly silence: Bounds;
}

const SILENCE: Bounds = { startMs: 15_000, minMs: 3_000, maxMs: 20_000 };
const OF_STREAMS: PaceBounds = {
  content: { startMs: 15_000, minMs: 3_000, maxMs: 15_000 },
  silence: SILENCE,
};
/** The time of a JSON answer varies with its length, so its limit starts higher and has no low ceiling. */
const OF_ANSWERS: PaceBounds = {
  content: { startMs: 15_000, minMs: 10_000, maxMs: 300_000 },
  silence: SILENCE,
};
const OF_LONG_ANSWERS: PaceBounds = {
  content: { ...OF_ANSWERS.content, startMs: OF_ANSWERS.content.maxMs },
  silence: SILENCE,
};

/** Holds the duration of one phase in the last attempts, in ms, and the limit that follows. */
class Waits {
  readonly #samples = new Float64Array(SAMPLES_MAX);
  readonly #bounds: Bounds;
  #count = 0;
  #unsorted = 0;
  limitMs: number;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
    this.limitMs = bounds.startMs;
  }

  observe(ms: number): void {
    this.#samples[this.#count % SAMPLES_MAX] = ms;
    this.#count += 1;
    this.#unsorted += 1;
    if (this.#count < SAMPLES_MIN || this.#unsorted < STALE_AFTER) return;
    this.#unsorted = 0;
    const known = this.#samples.slice(0, Math.min(this.#count, SAMPLES_MAX)).sort();
    const { minMs, maxMs } = this.#bounds;
    const slowest = known[Math.ceil(known.length * SLOWEST) - 1] ?? maxMs;
    this.limitMs = Math.min(maxMs, Math.max(minMs, slowest * SLACK));
  }
}

/** Counts the attempts of one model in this hour, and those that were abandoned for another route. */
class Allowance {
  readonly #tokensMax: number;
  #hourEndsAt = 0;
  #begun = 0;
  #abandoned = 0;
  #tokens = 0;

  constructor(tokensMax: number) {
    this.#tokensMax = tokensMax;
  }

  turn(now: number): void {
    if (now < this.#hourEndsAt) return;
    this.#hourEndsAt = now + HOUR_MS;
    this.#begun = 0;
    this.#abandoned = 0;
    this.#tokens = 0;
  }

  began(): void {
    this.#begun += 1;
  }

  /** Takes one attempt of this many tokens; returns false when the hour's share or tokens are used up. */
  take(tokens: number): boolean {
    const share = Math.max(ABANDONED_MIN, (this.#begun * ABANDONED_PERCENT) / 100);
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

/** Knows the speed of attempts by route, kind and size class, and decides when one is abandoned for another route. */
export class RoutePace {
  readonly #contents: Waits;
  readonly #silences: Waits;
  readonly #allowance: Allowance;

  constructor(allowance: Allowance, bounds: PaceBounds) {
    this.#allowance = allowance;
    this.#contents = new Waits(bounds.content);
    this.#silences = new Waits(bounds.silence);
  }

  get contentMs(): number {
    return this.#contents.limitMs;
  }

  get silenceMs(): number {
    return this.#silences.limitMs;
  }

  /** `silenceMs` is the longest silence of an attempt that has ended. */
  observe({ contentMs, silenceMs }: { contentMs: number; silenceMs: number }): void {
    this.#contents.observe(contentMs);
    this.#silences.observe(silenceMs);
  }

  /** Is called when an attempt without content has reached the limit, which counts as a sample. `tokens` are those that its provider may bill. */
  abandonsUnbegun(tokens: number): boolean {
    if (!this.#allowance.take(tokens)) return false;
    this.#contents.observe(this.contentMs);
    return true;
  }

  /** Is called when an attempt has been silent up to the limit, which counts as a sample. */
  abandonsSilent(tokens: number): boolean {
    if (!this.#allowance.take(tokens)) return false;
    this.#silences.observe(this.silenceMs);
    return true;
  }
}

/** States the cost of abandoning an attempt, and whether another route could answer. */
export interface PacedStake {
  /** Counts the tokens that its provider may bill if the attempt is abandoned. */
  readonly tokens: number;
  /** Returns true while another upstream may write the rest of its answer; otherwise its silence is not judged by its pace. */
  isContinued(): boolean;
  /** Returns true when no other route would be asked: the client has left, or the node stops. */
  isOver(): boolean;
}

/** Watches one attempt by the pace of its route, and adds its times. */
export class PacedAttempt {
  readonly #pace: RoutePace;
  readonly #stake: PacedStake;
  readonly #silenceMs: number;
  /** Counts the ms from start to content; negative before there is content. */
  #contentMs = -1;
  #longestSilenceMs = 0;

  constructor(pace: RoutePace, stake: PacedStake) {
    this.#pace = pace;
    this.#stake = stake;
    this.#silenceMs = pace.silenceMs;
  }

  sawContent(afterMs: number): void {
    if (this.#contentMs < 0) this.#contentMs = afterMs;
  }

  sawBytes(afterSilenceMs: number): void {
    if (this.#contentMs >= 0 && afterSilenceMs > this.#longestSilenceMs)
      this.#longestSilenceMs = afterSilenceMs;
  }

  /** Notes that the attempt ended properly. */
  ended(): void {
    if (this.#contentMs < 0) return;
    this.#pace.observe({ contentMs: this.#contentMs, silenceMs: this.#longestSilenceMs });
  }

  get #silenceMaxMs(): number {
    return this.#stake.isContinued() ? this.#silenceMs : SILENCE.startMs;
  }

  /** Returns true when the attempt is slower than its route's pace and the model's allowance permits abandoning it. */
  isOutpaced(sinceStartMs: number, silentMs: number): boolean {
    const isUnbegun = this.#contentMs < 0;
    const isSlow = isUnbegun ? sinceStartMs > this.#pace.contentMs : silentMs > this.#silenceMaxMs;
    if (!isSlow || this.#stake.isOver()) return false;
    const { tokens } = this.#stake;
    return isUnbegun ? this.#pace.abandonsUnbegun(tokens) : this.#pace.abandonsSilent(tokens);
  }
}

/** Describes an attempt as far as its pace needs. */
export interface PacedAs {
  readonly modelId: number;
  readonly routeId: number;
  readonly isStream: boolean;
  /** Counts the prompt tokens of a stream, or the possible output tokens of a JSON answer. */
  readonly size: number;
}

/** Keeps the pace of each route by kind of answer and size class, and the allowance of each model. Its size follows the installation's routes and models. */
export class RoutePaces {
  readonly #paces = new Map<number, RoutePace>();
  readonly #allowances = new Map<number, Allowance>();
  readonly #tokensMax: number;

  /** `workers` is the number of processes of the node, each of which has its part of the tokens. */
  constructor(workers = 1) {
    this.#tokensMax = ABANDONED_TOKENS_MAX / workers;
  }

  /** Counts an attempt that begins now, and returns the pace that judges it. */
  began({ modelId, routeId, isStream, size }: PacedAs, now: number): RoutePace {
    const allowance = this.#allowanceOf(modelId, now);
    allowance.began();
    const sizeClass = classOf(size);
    const key = (routeId * 2 + (isStream ? 0 : 1)) * (CLASSES.length + 1) + sizeClass;
    let pace = this.#paces.get(key);
    if (!pace)
      this.#paces.set(key, (pace = new RoutePace(allowance, boundsOf(isStream, sizeClass))));
    return pace;
  }

  /** Takes tokens that a provider may bill for a continuation; returns false when the hour's tokens are used up. */
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

function boundsOf(isStream: boolean, sizeClass: number): PaceBounds {
  if (isStream) return OF_STREAMS;
  return sizeClass < LONG_CLASS ? OF_ANSWERS : OF_LONG_ANSWERS;
}

function classOf(size: number): number {
  const at = CLASSES.findIndex((below) => size < below);
  return at < 0 ? CLASSES.length : at;
}
