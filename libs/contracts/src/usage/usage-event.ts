import { z } from 'zod';
import { CLAIMS_TEXT } from './budget-claims.ts';
import { CLIENT_PROTOCOLS } from './client-protocols.ts';
import { OUTCOMES } from './outcomes.ts';
import { PREMIUMS_MAX, premiumSchema } from './premium.ts';
import { tokenFields } from './token-fields.ts';
import { TRACEPARENT } from '../http/trace-context.ts';

/**
 * Events travel from the outbox stream over relay and BullMQ to the worker. They are deltas keyed (rid, seq): additive and order-free,
 * so any duplicate or reordering downstream gives the same sum (docs/design/metering.md#events).
 *
 * seq 0 = first charge (or a whole withdrawal), seq 1 = correction of a reaped hold, seq 2 = tokens a closing
 * subscription released when an in-flight hold settled.
 */
const id = z.number().int().positive();
const tokens = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
const unixMs = z.number().int().nonnegative();
/** A PostgreSQL integer: 24 days. */
const integer = z.number().int().max(2_147_483_647);
const durationMs = integer.nonnegative();
const upstreamId = integer.positive();
/** PostgreSQL holds neither NUL nor lone surrogates in texts. */
const storableText = z
  .string()
  .refine((text) => text.isWellFormed() && !text.includes('\u0000'), 'is no storable text');

const attemptCostSchema = z.strictObject({
  input_tokens: tokens,
  /** The tokens that arrived; the provider may have made more. */
  output_tokens: tokens,
});
/** Tokens a provider may bill the installation for an attempt that the customer does not pay; estimated. */
export type AttemptCost = z.infer<typeof attemptCostSchema>;

export const routeAttemptSchema = z.strictObject({
  upstream_id: upstreamId,
  /** Absent in what releases before rests were kept per route have written. */
  route_id: id.optional(),
  /** HTTP status the upstream answered; absent when it never answered. */
  status: integer.optional(),
  /** Short machine-readable reason; absent on success. */
  error: storableText.max(64).optional(),
  duration_ms: durationMs,
  /** Absent where the provider cannot have billed the attempt, and on the one that the customer pays. */
  cost: attemptCostSchema.optional(),
});

/** Lists the reasons to pass over an upstream. resting: its route failed again and again, or its provider asked to be left alone. full: as many requests run there as it may have. no_token: the gateway has no valid provider token for it. */
export const SKIP_REASONS = ['resting', 'full', 'no_token'] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/** False for an upstream that was passed over: nothing was sent to it, and `error` says why. */
export function wasTried({ error }: { error?: string | undefined }): boolean {
  return !SKIP_REASONS.some((reason) => reason === error);
}

/** The final of one request, written by the node that served it. */
export const usageFinalSchema = z.strictObject({
  kind: z.literal('usage'),
  account_id: id,
  key_id: id,
  subscription_id: id,
  model_id: id,
  price_version_id: id,
  node: storableText.max(128),
  protocol: z.enum(CLIENT_PROTOCOLS),
  is_stream: z.boolean(),
  upstream_id: upstreamId.nullable(),
  attempts: z.array(routeAttemptSchema).max(16),
  outcome: z.enum(OUTCOMES),
  /** Status the client saw. */
  status: integer,
  ...tokenFields(tokens, tokens.optional()),
  /** Total charge of the request in charged tokens; the worker recomputes it from the counts and the price version. */
  charge: tokens,
  /** SHA-256 hex of the API key that the node was shown: a live record that only Redis knows gives itself away. Not kept. */
  key_hash: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  basis: z.enum(['reported', 'estimated']),
  /** The dearer services it was charged for; absent without any, so that the final is what it was before there were multipliers. */
  premiums: z.array(premiumSchema).min(1).max(PREMIUMS_MAX).optional(),
  /** The budgets in which the request was admitted, as `readClaims` reads them; absent without any. */
  budgets: z.string().regex(CLAIMS_TEXT).optional(),
  /** Unix ms. */
  started_at: unixMs,
  first_token_ms: durationMs.nullable(),
  duration_ms: durationMs,
  /** The place of the request's span at the node, where the request is traced, so that settlement and booking belong to its trace. */
  traceparent: z.string().regex(TRACEPARENT).optional(),
});
export type UsageFinal = z.infer<typeof usageFinalSchema>;

/** Written by the REAP script: the node vanished, the last checkpoint is charged. Its counts are unknown; a later seq 1 brings them. */
export const usageReapSchema = z.strictObject({
  kind: z.literal('reap'),
  account_id: id,
  key_id: id,
  subscription_id: id,
  model_id: id,
  price_version_id: id,
  node: storableText.max(128),
  /** Has the form of the same field in a final. */
  budgets: z.string().regex(CLAIMS_TEXT).optional(),
});

/** Written by WITHDRAW (seq 0) and by SETTLE on a closing subscription (seq 2). `delta` tokens leave the subscription and are refunded. */
export const withdrawalSchema = z.strictObject({
  kind: z.literal('withdraw'),
  account_id: id,
  subscription_id: id,
  model_id: id,
  withdrawal_id: z.uuid(),
});

export const usagePayloadSchema = z.discriminatedUnion('kind', [
  usageFinalSchema,
  usageReapSchema,
  withdrawalSchema,
]);
export type UsagePayload = z.infer<typeof usagePayloadSchema>;

export const usageEventSchema = z.strictObject({
  /** UUIDv7 made by the node; its timestamp gives the partition day (UTC), so a retry always meets the same partition. */
  rid: z.uuid(),
  seq: z.union([z.literal(0), z.literal(1), z.literal(2)]),
  /** Charged tokens leaving the subscription; negative only in a seq 1 correction. */
  delta: z.number().int().min(-Number.MAX_SAFE_INTEGER).max(Number.MAX_SAFE_INTEGER),
  payload: usagePayloadSchema,
});
export type UsageEvent = z.infer<typeof usageEventSchema>;

/** The relay puts texts straight from the outbox into BullMQ. The worker parses and judges them one by one, so that one poison event cannot block its batch. */
export interface RelayedEvent {
  /** Shard tag, e.g. `s03`. */
  shard: string;
  /** The shard's epoch when the relay read the event: usage of an epoch that is gone left no trace in today's Redis. '' where no outbox was involved. */
  epoch: string;
  /** Redis stream id `<ms>-<n>`. */
  outboxId: string;
  rid: string;
  seq: string;
  delta: string;
  payload: string;
}
/** A subscription whose tokens did not do for a request. `neededTokens`: what the request needs at least, in charged tokens. */
export interface FundsHint {
  accountId: number;
  modelId: number;
  neededTokens: number;
}
export interface UsageJob {
  events: RelayedEvent[];
  /** Names subscriptions whose requests were refused for lack of tokens, so that auto-recharge looks at them at once. A hint: losing one only means the next settle or sweep looks. */
  refusedForFunds?: FundsHint[];
}
export const USAGE_QUEUE = 'usage';
/** Acknowledgements are per (rid, seq): acknowledging the rid alone would let a reap make a node forget an unsettled final (docs/design/metering.md#events). */
export interface Acknowledgement {
  rid: string;
  seq: number;
}
