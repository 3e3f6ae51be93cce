import { divideCeil, divideFloor } from '@tollgate/money';
import { callBound, READING_ROUNDS_MAX } from './bounds/call-bounds.ts';
import { addedTokensOf, templateTokensOf } from './bounds/added-tokens.ts';
import { plainTokensOf, type PlainTokens } from './bounds/plain-tokens.ts';
import { callMicros, dearestWeight } from './charge.ts';
import type { ChargeWeights } from './class-weights.ts';
import { heldFactor, type UsageBounds } from './credibility.ts';
import type { HoldFacts, HoldRequest, PromptSize } from './hold-request.ts';
import { cheapestReached, dearestReached, tierBands } from './price-tiers.ts';

const MICRO = 1_000_000n;
/** Is the output limit of a request that states none, where the model has no default. It is clamped to the model's maximum like any other. */
const OUTPUT_LIMIT_DEFAULT = 4_096;
/** Roles, separators and names the provider's template puts around each message. */
const TOKENS_PER_MESSAGE = 16;
/** Is an estimate: texts of most languages have about so many. */
const BYTES_PER_TOKEN = 4;
/** Output tokens a stream's hold covers ahead of what it has used (docs/design/metering.md#deduction). */
export const SLICE_OUTPUT_TOKENS = 4_096;

/** Holds amounts in charged tokens unless said otherwise. */
export interface HoldPlan {
  /** Counts the tokens to ask `admit` for: the full bound for JSON, the prompt and one slice for a stream. */
  wantTokens: number;
  /** Below this the request is refused: the prompt and one output token for each choice. */
  minTokens: number;
  /** Limits the output tokens per choice, to be written into the upstream request; it is not weighted. */
  outputLimit: number;
  promptBound: number;
  /** Counts the plain tokens of the prompt that the hold covers: they decide which tier of the price is the dearest one. */
  coveredPromptTokens: number;
  /** Counts the plain tokens of what the caller sends, which limits count: estimated, and at most. */
  promptTokens: { estimate: number; most: number };
  /** Bounds plain tokens, for budgets that count tokens as reported. */
  plainTokens: PlainTokens;
  /** Is the part of the prompt bound, in plain tokens, for all but the text: messages, images, inputs without a bound. */
  besideTextTokens: number;
  /** Counts the tokens by which a stream's hold grows at a checkpoint. */
  sliceTokens: number;
  /** The hold never needs to exceed this. */
  boundTokens: number;
  /** Holds plain tokens by which the upstream's report is judged. */
  bounds: UsageBounds;
}

/**
 * Sizes the hold of one request (docs/design/metering.md#hold-size). One byte of text is at most one token, as byte-level BPE cannot emit more
 * tokens than bytes. The dearest class stands for the whole prompt, and for the whole output: only the upstream knows what it will read from a cache.
 * Likewise the dearest tier of the price that the prompt can reach. It is rounded up, like the charge; amounts beyond the safe integers saturate, and then no balance covers them.
 */
export function planHold(asked: HoldRequest): HoldPlan {
  const promptTokens = promptTokensOf(asked);
  const request = atDearestTier(asked, promptTokens);
  const { ask, price, overrun = null, sliceOutputTokens = SLICE_OUTPUT_TOKENS } = request;
  const estimatedText =
    request.exactTextTokens ?? Math.ceil(ask.prompt.textBytes / BYTES_PER_TOKEN);
  const promptMicros = promptMicrosOf(request, promptTokens);
  const outputLimit = outputLimitOf(request);
  const outputTokens = BigInt(outputLimit) * BigInt(ask.choices);
  const factor = overrun ? heldFactor(overrun, saturate(outputTokens)) : 1;
  const outputMicros = (tokens: bigint): bigint => tokens * dearestOutput(price) * BigInt(factor);
  const slice = smaller(BigInt(sliceOutputTokens), outputTokens);
  const firstTokens = smaller(BigInt(ask.choices), outputTokens);
  const boundTokens = chargedCeil(promptMicros + outputMicros(outputTokens));
  return {
    wantTokens: isHeldWhole(ask) ? boundTokens : chargedCeil(promptMicros + outputMicros(slice)),
    minTokens: isLimitKept(request)
      ? chargedCeil(promptMicros + outputMicros(firstTokens))
      : boundTokens,
    outputLimit,
    promptBound: chargedCeil(promptMicros),
    coveredPromptTokens: saturate(promptTokens),
    promptTokens: {
      estimate: sentTokensOf(request, estimatedText),
      most: sentTokensOf(request, textTokensOf(request), promptTokens),
    },
    plainTokens: plainTokensOf(cheapestReached(asked.price, saturate(promptTokens)), {
      promptTokens: saturate(promptTokens),
      outputTokens: saturate(outputTokens * BigInt(factor) + BigInt(ask.prompt.predictedBytes)),
    }),
    besideTextTokens: saturate(larger(promptTokens - BigInt(textTokensOf(request)), 0n)),
    sliceTokens: chargedCeil(outputMicros(slice)),
    boundTokens,
    bounds: usageBoundsOf(request, { promptTokens, outputTokens }),
  };
}

function atDearestTier(request: HoldRequest, promptTokens = promptTokensOf(request)): HoldRequest {
  return { ...request, price: dearestReached(request.price, saturate(promptTokens)) };
}

/** An upstream's report is judged by the bytes of the prompt, also where its tokens were counted. */
function usageBoundsOf(
  request: HoldRequest,
  { promptTokens, outputTokens }: { promptTokens: bigint; outputTokens: bigint },
): UsageBounds {
  const { ask, model } = request;
  const calls = callBound(request);
  return {
    promptTokens: saturate(
      request.exactTextTokens === undefined
        ? promptTokens
        : promptTokensOf(request, ask.prompt.textBytes),
    ),
    promptTextBytes: model.kind === 'embedding' ? 0 : ask.prompt.textBytes,
    ...(calls && { calls }),
    outputTokens: saturate(outputTokens + BigInt(ask.prompt.predictedBytes)),
  };
}

/** Returns whether a lowered limit bounds the answer. A compaction is given none, and an upstream that overruns its limits ignores one: such JSON answers are held for in full or not asked for. */
function isLimitKept({ ask, overrun = null }: HoldRequest): boolean {
  return ask.isCompaction !== true && (overrun === null || !isHeldWhole(ask));
}

/** A stream grows its hold as it continues; any other answer is held for to its end before it is asked for. */
export function isHeldWhole({
  isStream,
  isBackground = false,
}: Pick<HoldFacts, 'isStream' | 'isBackground'>): boolean {
  return !isStream || isBackground;
}

/** Returns the output limit per choice that a smaller grant pays for in full, rounded down; at most the planned one. It serves JSON requests, whose limit goes upstream before they start. `grantedTokens` are charged tokens. */
export function affordableOutput(asked: HoldRequest, grantedTokens: number): number {
  const request = atDearestTier(asked);
  const planned = outputLimitOf(request);
  const microsPerStep = BigInt(request.ask.choices) * dearestOutput(request.price);
  if (microsPerStep === 0n) return planned;
  const left = BigInt(grantedTokens) * MICRO - promptMicrosOf(request);
  return left <= 0n ? 0 : Math.min(planned, saturate(divideFloor(left, microsPerStep)));
}

/** Returns how many tokens the prompt's text may have for so many charged tokens to admit the request (`minTokens`), rounded down; below zero when all else costs more. */
export function affordableText(request: HoldRequest, chargedTokens: number): number {
  const texts = tierBands(request.price).map(({ price, upTo }) =>
    Math.min(affordableTextAt({ ...request, price }, chargedTokens), textUpTo(request, upTo)),
  );
  return Math.max(...texts);
}

/** Returns how many tokens the prompt's text may have for the whole prompt to have so many; below zero when all else has more. */
function textUpTo(request: HoldRequest, promptTokens: number): number {
  if (promptTokensOf(request, Number.MAX_SAFE_INTEGER) <= promptTokens) return Infinity;
  if (promptTokensOf(request, 0) > promptTokens) return -1;
  const sent = divideFloor(BigInt(promptTokens), readingsOf(request.ask.prompt));
  return Number(sent - besideTextOf(request));
}

/** Computes it at a price without tiers that the prompt reaches. */
function affordableTextAt(request: HoldRequest, chargedTokens: number): number {
  const { ask, price } = request;
  const firstTokens = smaller(
    BigInt(ask.choices),
    BigInt(outputLimitOf(request)) * BigInt(ask.choices),
  );
  const left = BigInt(chargedTokens) * MICRO - firstTokens * dearestOutput(price);
  const microsPerToken = dearestInput(price) * readingsOf(ask.prompt);
  const least = promptMicrosOf({ ...request, exactTextTokens: 0 });
  if (microsPerToken === 0n || left >= mostPromptMicrosOf(request))
    return left < least ? -1 : Infinity;
  return left < least ? -1 : Number(divideFloor(left - least, microsPerToken));
}

/** Returns false where the model says neither how large its context window is nor what an input without a bound may cost: nothing could be held for it. */
export function isPromptBounded({
  ask: { prompt },
  model,
}: Pick<HoldRequest, 'ask' | 'model'>): boolean {
  return (
    prompt.unboundedInputs + prompt.serverToolUses === 0 ||
    model.unbounded_input_tokens !== null ||
    model.context_window !== null
  );
}

/** The dearest class of input stands for the whole prompt, beside calls; predicted output that is not used is billed as output. */
function promptMicrosOf(request: HoldRequest, promptTokens = promptTokensOf(request)): bigint {
  const { ask, price } = request;
  return (
    promptTokens * dearestInput(price) +
    callMicros(callBound(request) ?? {}, price) +
    BigInt(ask.prompt.predictedBytes) * dearestOutput(price)
  );
}

/** Whatever a request reads beside its own bytes, a round cannot read more than the context window. */
function promptTokensOf(request: HoldRequest, textTokens = textTokensOf(request)): bigint {
  const window = windowTokensOf(request);
  const text = BigInt(textTokens);
  const sent = (text + besideTextOf(request)) * readingsOf(request.ask.prompt);
  if (window === null) return sent;
  const isSentEnough =
    request.model.unbounded_input_tokens !== null && !request.model.reads_more_than_sent;
  return isSentEnough ? smaller(sent, window) : window;
}

/** Bounds the prompt without the provider's own words: they are not the caller's, and their bound is far above what most providers add. */
function sentTokensOf(
  request: HoldRequest,
  textTokens: number,
  promptTokens = promptTokensOf(request, textTokens),
): number {
  const { prompt } = request.ask;
  const template = BigInt(templateTokensOf(prompt, request.upstreamModels)) * readingsOf(prompt);
  return saturate(larger(promptTokens - template, BigInt(textTokens)));
}

/** Counts all that the rounds of a request may read; null where its own bytes bound it, or the window is not known. */
function windowTokensOf({ ask: { prompt }, model }: HoldRequest): bigint | null {
  if (model.context_window === null) return null;
  const window = BigInt(model.context_window) * roundsOf(prompt);
  if (model.reads_more_than_sent) return BigInt(READING_ROUNDS_MAX) * window;
  return prompt.unboundedInputs + prompt.serverToolUses === 0 ? null : window;
}

/** Returns how often the upstream reads what was sent. */
function readingsOf({ compactions = 0 }: PromptSize): bigint {
  return BigInt(1 + compactions);
}

function roundsOf(prompt: PromptSize): bigint {
  return readingsOf(prompt) * BigInt(1 + prompt.serverToolUses);
}

/** Returns the hold of a text without end: finite only where the window bounds it. */
function mostPromptMicrosOf(request: HoldRequest): bigint {
  const { prompt } = request.ask;
  const endless = { ...prompt, textBytes: Number.MAX_SAFE_INTEGER };
  const { exactTextTokens: _, ...rest } = request;
  return promptMicrosOf({ ...rest, ask: { ...request.ask, prompt: endless } });
}

function textTokensOf({ ask: { prompt }, exactTextTokens }: HoldRequest): number {
  return Math.min(prompt.textBytes, exactTextTokens ?? prompt.textBytes);
}

function besideTextOf({ ask: { prompt }, model, upstreamModels }: HoldRequest): bigint {
  return (
    BigInt(prompt.otherBytes) +
    BigInt(prompt.messageCount) * BigInt(TOKENS_PER_MESSAGE) +
    BigInt(addedTokensOf(prompt, upstreamModels)) +
    BigInt(threadTokensOf(prompt, model)) +
    BigInt(prompt.unboundedInputs + prompt.serverToolUses) *
      BigInt(model.unbounded_input_tokens ?? 0)
  );
}

/** A thread grows by its answers, but no round reads more than the window. */
function threadTokensOf(
  { thread }: PromptSize,
  { context_window: window }: Pick<HoldRequest['model'], 'context_window'>,
): number {
  if (!thread) return 0;
  return Math.min(thread.promptTokens + thread.outputTokens, window ?? Number.MAX_SAFE_INTEGER);
}

function outputLimitOf({ ask, model }: HoldRequest): number {
  if (model.kind === 'embedding') return 0;
  // No answer is longer than the window; one without a limit of its own is bounded by nothing else.
  const longest = ask.isCompaction === true ? model.context_window : null;
  return Math.min(
    ask.outputLimit ?? model.default_output_tokens ?? OUTPUT_LIMIT_DEFAULT,
    model.max_output_tokens ?? longest ?? Number.MAX_SAFE_INTEGER,
  );
}

function dearestInput(price: ChargeWeights): bigint {
  return BigInt(dearestWeight(price, 'prompt'));
}

function dearestOutput(price: ChargeWeights): bigint {
  return BigInt(dearestWeight(price, 'output'));
}

function chargedCeil(microTokens: bigint): number {
  return saturate(divideCeil(microTokens, MICRO));
}

function saturate(value: bigint): number {
  return Number(smaller(value, BigInt(Number.MAX_SAFE_INTEGER)));
}

function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
