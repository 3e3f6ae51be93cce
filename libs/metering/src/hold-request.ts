import type { CallCounts, ThreadSize } from '@tollgate/contracts';
import type { SnapshotModel } from '@tollgate/snapshot';
import type { ImageInput } from './bounds/image-bounds.ts';
import type { ChargeWeights } from './class-weights.ts';
import type { Overrun } from './credibility.ts';

/** Holds the facts that size a hold; an `Ask` of libs/protocols has them. */
export interface HoldFacts {
  isStream: boolean;
  /** Is true when the answer continues without its caller, so that nothing can end it when a hold is used up. */
  isBackground?: boolean;
  /** Is true when the upstream gets no limit, so that the answer may be as long as the model allows. */
  isCompaction?: boolean;
  /** Is the client's own limit; null when it gave none. */
  outputLimit: number | null;
  /** Is the request's `n`. */
  choices: number;
  prompt: PromptSize;
}

export interface PromptSize {
  textBytes: number;
  messageCount: number;
  images: readonly ImageInput[];
  /** Is the number of tools that the request defines. */
  ownTools: number;
  /** Lists the names of vendor tools, whose definitions are in the provider's prompt. */
  vendorTools: readonly string[];
  /** Is the number of inputs that the request's bytes do not bound. */
  unboundedInputs: number;
  /** Is the number of rounds in which provider tools may add input. */
  serverToolUses: number;
  /** Bounds the calls of provider tools that are charged by the call. */
  calls?: CallCounts;
  /** Is 1 when the provider may shorten the conversation before a round: it then reads everything again, and at most the window in each round. */
  compactions?: number;
  /** Counts the bytes that are not text, each at most a token. */
  otherBytes: number;
  /** Counts the bytes that are not text and may be billed as output, each at most a token. */
  predictedBytes: number;
  /** Is the conversation that the request continues without repeating it. */
  thread?: ThreadSize;
}

export type ModelSize = Pick<
  SnapshotModel,
  | 'kind'
  | 'context_window'
  | 'default_output_tokens'
  | 'max_output_tokens'
  | 'unbounded_input_tokens'
  | 'reads_more_than_sent'
>;

export interface HoldRequest {
  ask: HoldFacts;
  model: ModelSize;
  /** Holds the model's names at the upstreams that may serve the request. A name bounds what is added to the prompt. */
  upstreamModels: readonly string[];
  price: ChargeWeights;
  /** Is the number of output tokens in a slice of the hold; the default is 4,096. */
  sliceOutputTokens?: number;
  /** Counts the tokens of the prompt's text; they replace the byte bound when that did not fit. */
  exactTextTokens?: number;
  /** Is the overrun of upstreams that may serve the request. */
  overrun?: Overrun | null;
}
