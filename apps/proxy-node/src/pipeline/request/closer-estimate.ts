import {
  estimateFamily,
  estimateOutput,
  estimatePrompt,
  NEUTRAL,
  type EstimateFamily,
  type OutputCounts,
} from '@tollgate/metering';
import { countTokensGently } from '@tollgate/metering/token-counter';
import { promptParts, type PromptParts } from '@tollgate/protocols';
import { nextTurn } from '../../next-turn.ts';
import type { Asked } from './parse.ts';

/** Adds the tokens that providers of a known family count besides the plain text, for answers whose upstream reported no usage. */
export class CloserEstimate {
  readonly #family: EstimateFamily;
  readonly #parts: () => PromptParts;

  constructor(family: EstimateFamily, parts: () => PromptParts) {
    this.#family = family;
    this.#parts = parts;
  }

  /** Returns null for a model of no known family, which is charged for its plain text. */
  static of({
    ask,
    model,
    candidates,
  }: Pick<Asked, 'ask' | 'model' | 'candidates'>): CloserEstimate | null {
    const family = estimateFamily(candidates[0]?.[0]?.route.upstream_model ?? model.name);
    return family === NEUTRAL
      ? null
      : new CloserEstimate(family, () => promptParts(ask.protocol, ask.body));
  }

  /** Documents, and images whose size is not in the request, count nothing here: an estimate must not charge for more than was sent. */
  async promptTokens(): Promise<number> {
    const { texts, tools, calls, messages, images } = this.#parts();
    const count = (pieces: readonly string[]): Promise<number> =>
      countTokensGently(pieces.join('\n'), nextTurn);
    return estimatePrompt(this.#family, {
      textTokens: await count(texts),
      toolTokens: await count(tools),
      callTokens: await count(calls),
      messages,
      tools: tools.length,
      calls: calls.length,
      images: images.filter((size) => size !== null),
      pages: 0,
    });
  }

  outputTokens(counts: OutputCounts): number {
    return estimateOutput(this.#family, counts);
  }
}
