import type { CallCounts, ThreadSize } from '@tollgate/contracts';
import type { SnapshotModel } from '@tollgate/snapshot';
import type { ImageInput } from './bounds/image-bounds.ts';
import type { ChargeWeights } from './class-weights.ts';
import type { Overrun } from './credibility.ts';

/** The facts that size a hold; an `Ask` of libs/protocols has them. */
export interface HoldFacts {
  isStream: boolean;
  /** The answer continues without its caller: nothing can end it when a hold is used up. */
  isBackground?: boolean;
  /** The upstream is given no limit: the answer may be as long as the model can make it. */
  isCompaction?: boolean;
  /** The client's own limit; null when it gave none. */
  outputLimit: number | null;
  /** `n`. */
  choices: number;
  prompt: PromptSize;
}

export interface PromptSize {
  textBytes: number;
  messageCount: number;
  images: readonly ImageInput[];
  /** Tools that are defined in the request. */
  ownTools: number;
  /** Tools of vendors, by name: their definitions are in the provider's prompt. */
  vendorTools: readonly string[];
  /** Inputs that no byte of the request bounds. */
  unboundedInputs: number;
  /** Rounds in which tools of the provider may add input. */
  serverToolUses: number;
  /** The most that tools of the provider may be called, of those that are charged by the call. */
  calls?: CallCounts;
  /** 1 where the provider may shorten the conversation before a round: all that is sent is read again, and in each round at most the window. */
  compactions?: number;
  /** Bytes beside the text, each at most a token. */
  otherBytes: number;
  /** Bytes beside the text that may be billed as output, each at most a token. */
  predictedBytes: number;
  /** The conversation that the request continues without repeating it. */
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
  /** Names of the model at the upstreams that may serve the request; what a name says bounds what is added to the prompt. */
  upstreamModels: readonly string[];
  price: ChargeWeights;
  /** Default 4,096. */
  sliceOutputTokens?: number;
  /** The prompt's text, tokenised: replaces the byte bound when that did not fit. */
  exactTextTokens?: number;
  /** The overrun of upstreams that may serve the request. */
  overrun?: Overrun | null;
}
