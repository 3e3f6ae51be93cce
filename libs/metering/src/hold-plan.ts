import { divideCeil, divideFloor } from '@tollgate/money';
import type { SnapshotModel } from '@tollgate/snapshot';
import type { ChargeWeights } from './charge.ts';

const MICRO = 1_000_000n;
/** Chat without a limit of its own gets this many. Clamped to the model's maximum like any other. */
const OUTPUT_LIMIT_DEFAULT = 4_096;
/** Roles, separators and names the provider's template puts around each message. */
const TOKENS_PER_MESSAGE = 16;
/** Above what any known provider counts for one inline image at full detail. */
export const TOKENS_PER_IMAGE_MAX = 4_096;
/** Output tokens a stream's hold covers ahead of what it has used (docs/design/metering.md#deduction). */
export const SLICE_OUTPUT_TOKENS = 4_096;

/** What sizes a hold; an `Ask` of libs/protocols fits. */
export interface HoldFacts {
  isStream: boolean;
  /** The client's own limit; null when it gave none. */
  outputLimit: number | null;
  /** `n`. */
  choices: number;
  prompt: { textBytes: number; messageCount: number; imageCount: number; unboundedInputs: number };
  /** The request as it came. */
  raw?: { readonly byteLength: number };
}

export interface HoldRequest {
  ask: HoldFacts;
  model: Pick<SnapshotModel, 'kind' | 'max_output_tokens' | 'unbounded_input_tokens'>;
  price: ChargeWeights;
  /** Default 4,096. */
  sliceOutputTokens?: number;
  /** The prompt's text, tokenised: replaces the byte bound when that did not fit. */
  exactTextTokens?: number;
}

/** Amounts are charged tokens unless said otherwise. */
export interface HoldPlan {
  /** What to ask `admit` for: JSON the full bound, a stream its prompt and one slice. */
  wantTokens: number;
  /** Below this the request is refused: the prompt and one output token for each choice. */
  minTokens: number;
  /** Output tokens per choice, to be written into the upstream request; not weighted. */
  outputLimit: number;
  promptBound: number;
  /** Of the prompt bound, what stands for all but the text: messages, images, inputs without a bound. Plain tokens. */
  besideTextTokens: number;
  /** By how much a stream's hold grows at a checkpoint. */
  sliceTokens: number;
  /** The hold never needs to exceed this. */
  boundTokens: number;
  /** Plain tokens, to judge the upstream's report by. */
  bounds: UsageBounds;
}

export interface UsageBounds {
  /**
   * At least the request's bytes: an upstream may read as prompt what we do not (fields of its own, the first of two keys), and whoever finds
   * such a place must not have the report of it doubted. null: the prompt has inputs without any bound.
   */
  promptTokens: number | null;
  outputTokens: number;
}

/**
 * The hold of one request (docs/design/metering.md#hold-size). One byte of text is at most one token, as byte-level BPE cannot emit more
 * tokens than bytes; the dearest input class stands for the whole prompt, as only the upstream knows what it will read from a cache.
 * Rounded up, like the charge; amounts beyond the safe integers saturate, and then no balance covers them.
 */
export function planHold(request: HoldRequest): HoldPlan {
  const { ask, price, sliceOutputTokens = SLICE_OUTPUT_TOKENS } = request;
  const promptTokens = promptTokensOf(request);
  const outputLimit = outputLimitOf(request);
  const outputTokens = BigInt(outputLimit) * BigInt(ask.choices);
  const promptMicros = promptTokens * dearestInput(price);
  const outputMicros = (tokens: bigint): bigint => tokens * BigInt(price.weight_output);
  const slice = smaller(BigInt(sliceOutputTokens), outputTokens);
  const firstTokens = smaller(BigInt(ask.choices), outputTokens);
  const boundTokens = chargedCeil(promptMicros + outputMicros(outputTokens));
  return {
    wantTokens: ask.isStream ? chargedCeil(promptMicros + outputMicros(slice)) : boundTokens,
    minTokens: chargedCeil(promptMicros + outputMicros(firstTokens)),
    outputLimit,
    promptBound: chargedCeil(promptMicros),
    besideTextTokens: saturate(besideTextOf(request)),
    sliceTokens: chargedCeil(outputMicros(slice)),
    boundTokens,
    bounds: {
      promptTokens: isPromptBounded(request)
        ? Math.max(saturate(promptTokens), ask.raw?.byteLength ?? 0)
        : null,
      outputTokens: saturate(outputTokens),
    },
  };
}

/**
 * The output limit per choice that a smaller grant pays for in full, rounded down; at most the planned one.
 * For JSON requests, whose limit goes upstream before they start. `grantedTokens` in charged tokens.
 */
export function affordableOutput(request: HoldRequest, grantedTokens: number): number {
  const planned = outputLimitOf(request);
  const microsPerStep = BigInt(request.ask.choices) * BigInt(request.price.weight_output);
  if (microsPerStep === 0n) return planned;
  const left =
    BigInt(grantedTokens) * MICRO - promptTokensOf(request) * dearestInput(request.price);
  return left <= 0n ? 0 : Math.min(planned, saturate(divideFloor(left, microsPerStep)));
}

/** How many tokens the prompt's text may have for so many charged tokens to admit the request (`minTokens`), rounded down; below zero when all else costs more. */
export function affordableText(request: HoldRequest, chargedTokens: number): number {
  const { ask, price } = request;
  const firstTokens = smaller(
    BigInt(ask.choices),
    BigInt(outputLimitOf(request)) * BigInt(ask.choices),
  );
  const left = BigInt(chargedTokens) * MICRO - firstTokens * BigInt(price.weight_output);
  const microsPerToken = dearestInput(price);
  if (microsPerToken === 0n) return left < 0n ? -1 : Infinity;
  return Number(
    divideFloor(left, microsPerToken) - promptTokensOf({ ...request, exactTextTokens: 0 }),
  );
}

function promptTokensOf(request: HoldRequest): bigint {
  const { ask, exactTextTokens } = request;
  return (
    BigInt(Math.min(ask.prompt.textBytes, exactTextTokens ?? ask.prompt.textBytes)) +
    besideTextOf(request)
  );
}

function besideTextOf({ ask: { prompt }, model }: Pick<HoldRequest, 'ask' | 'model'>): bigint {
  return (
    BigInt(prompt.messageCount) * BigInt(TOKENS_PER_MESSAGE) +
    BigInt(prompt.imageCount) * BigInt(TOKENS_PER_IMAGE_MAX) +
    BigInt(prompt.unboundedInputs) * BigInt(model.unbounded_input_tokens ?? 0)
  );
}

function isPromptBounded({ ask, model }: HoldRequest): boolean {
  return ask.prompt.unboundedInputs === 0 || model.unbounded_input_tokens !== null;
}

function outputLimitOf({ ask, model }: HoldRequest): number {
  if (model.kind === 'embedding') return 0;
  return Math.min(
    ask.outputLimit ?? OUTPUT_LIMIT_DEFAULT,
    model.max_output_tokens ?? Number.MAX_SAFE_INTEGER,
  );
}

function dearestInput(price: ChargeWeights): bigint {
  return BigInt(Math.max(price.weight_input, price.weight_cache_read, price.weight_cache_write));
}

function chargedCeil(microTokens: bigint): number {
  return saturate(divideCeil(microTokens, MICRO));
}

function saturate(value: bigint): number {
  return Number(smaller(value, BigInt(Number.MAX_SAFE_INTEGER)));
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
