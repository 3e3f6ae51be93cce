/** Bounds how many answers of a model its rate is the median of; it is odd, so that the median is one of them. */
const SAMPLES_MAX = 33;
/** Fewer are no rate: a single odd answer must not set the price of a hang-up. */
const SAMPLES_MIN = 5;
const MODELS_MAX = 4_096;

/** Holds the tokens of one answer that were generated without being shown. */
export interface Unseen {
  /** Counts the output tokens beyond what its text can have been: at most one token for each character. */
  tokens: number;
  /** Lasts from the sending of the request to its first content; for a JSON answer, to its end. */
  silentMs: number;
}

/** Holds the rate of one model. */
export interface ReasoningRate {
  observe(unseen: Unseen): void;
  /** Returns the tokens that a request of the model has probably generated unseen in this time; 0 for a model that mostly shows its text. */
  tokensIn(silentMs: number): number;
}

/**
 * Learns how fast each model generates text that it does not show, from this process' last answers. It serves requests whose client leaves before the usage is
 * reported: the provider also bills hidden reasoning.
 */
export class ReasoningRates {
  /** Holds rates in tokens per millisecond, oldest first. */
  readonly #samples = new Map<number, number[]>();

  of(modelId: number): ReasoningRate {
    return {
      observe: (unseen) => this.#observe(modelId, unseen),
      tokensIn: (silentMs) => Math.floor(this.#median(modelId) * Math.max(0, silentMs)),
    };
  }

  #observe(modelId: number, { tokens, silentMs }: Unseen): void {
    let samples = this.#samples.get(modelId);
    if (!samples) {
      this.#samples.set(modelId, (samples = []));
      const [oldest] = this.#samples.keys();
      if (this.#samples.size > MODELS_MAX && oldest !== undefined) this.#samples.delete(oldest);
    }
    samples.push(Math.max(0, tokens) / Math.max(1, silentMs));
    if (samples.length > SAMPLES_MAX) samples.shift();
  }

  #median(modelId: number): number {
    const samples = this.#samples.get(modelId) ?? [];
    if (samples.length < SAMPLES_MIN) return 0;
    return samples.toSorted((one, other) => one - other)[Math.floor(samples.length / 2)] ?? 0;
  }
}
