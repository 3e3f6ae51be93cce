import type { ContinuedOptions, PromptFacts } from '@tollgate/protocols';

/** Describes how an attempt continues an answer that was cut. */
export interface Splice extends ContinuedOptions {
  /** Is the prompt of the request that asks for the rest. */
  readonly prompt: PromptFacts;
  /** Counts the tokens that are left of the limit. */
  readonly outputTokens: number;
}
