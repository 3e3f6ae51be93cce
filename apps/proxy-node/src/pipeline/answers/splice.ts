import type { ContinuedOptions, PromptFacts } from '@tollgate/protocols';

/** Describes how an attempt continues an answer that was cut. */
export interface Splice extends ContinuedOptions {
  /** Is the prompt of the request that the attempt sends. */
  readonly prompt: PromptFacts;
  /** Limits the attempt's output: to what is left of the limit, or to all of it where the whole answer is asked for again. */
  readonly outputTokens: number;
}
