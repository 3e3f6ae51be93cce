import { REPORTED_EXCESS_MAX } from '@tollgate/contracts';

/** Holds the prompt tokens of a model that an upstream reported above their bound. */
interface Excess {
  answers: number;
  tokens: number;
  largest: number;
  seenAt: number;
}

/** Holds by how much one upstream's reports exceed the bounds of prompts, by model. The clock is passed in. */
export class PromptExcess {
  readonly #models = new Map<number, Excess>();
  readonly #keptMs: number;

  /** A model's excess is remembered for `keptMs` after it was last seen. */
  constructor(keptMs: number) {
    this.#keptMs = keptMs;
  }

  note(modelId: number, tokens: number, now: number): void {
    this.#forget(now);
    const { answers, tokens: before, largest } = this.#models.get(modelId) ?? NONE;
    this.#models.set(modelId, {
      answers: answers + 1,
      tokens: Math.min(Number.MAX_SAFE_INTEGER, before + tokens),
      largest: Math.max(largest, tokens),
      seenAt: now,
    });
  }

  /** Returns the rows of the node's report: models with the largest excess first. */
  rows(now: number): { model_id: number; answers: number; tokens: number; largest: number }[] {
    this.#forget(now);
    return [...this.#models]
      .map(([model_id, { answers, tokens, largest }]) => ({ model_id, answers, tokens, largest }))
      .toSorted((one, other) => other.tokens - one.tokens)
      .slice(0, REPORTED_EXCESS_MAX);
  }

  #forget(now: number): void {
    for (const [modelId, { seenAt }] of this.#models)
      if (now - seenAt >= this.#keptMs) this.#models.delete(modelId);
  }
}

const NONE: Excess = { answers: 0, tokens: 0, largest: 0, seenAt: 0 };
