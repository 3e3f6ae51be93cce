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
/** A PostgreSQL integer allows 24 days. */
const integer = z.number().int().max(2_147_483_647);
const durationMs = integer.nonnegative();
const upstreamId = integer.positive();
/** PostgreSQL stores neither NUL nor lone surrogates in texts. */
const storableText = z
  .string()
  .refine((text) => text.isWellFormed() && !text.includes('\u0000'), 'is no storable text');

const attemptCostSchema = z.strictObject({
  input_tokens: tokens,
  /** Counts the tokens that arrived; the provider may have generated more. */
  output_tokens: tokens,
});
/** Estimates the tokens that a provider may bill the installation for an attempt that the customer does not pay. */
export type AttemptCost = z.infer<typeof attemptCostSchema>;

export const routeAttemptSchema = z.strictObject({
  upstream_id: upstreamId,
  route_id: id,
  /** Is the HTTP status of the upstream; absent when it never answered. */
  status: integer.optional(),
  /** Is a short machine-readable reason; absent on success. */
  error: storableText.max(64).optional(),
  duration_ms: durationMs,
  /** Is absent where the provider cannot have billed the attempt, and on the attempt that the customer pays. */
  cost: attemptCostSchema.optional(),
});

/**
 * Lists why an upstream was skipped. `resting`: its route failed repeatedly, or its provider asked for a pause. `full`: it runs as many requests as
 * it may. `no_token`: the gateway has no valid provider token for it.
 */
export const SKIP_REASONS = ['resting', 'full', 'no_token'] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/** Is the error of the first attempt where another model was asked before. Admission counted the request as one then, and it has a final of its own. */
export const OTHER_MODEL = 'other_model';

/** Returns false for an upstream that was skipped: nothing was sent to it, and `error` gives the reason. */
export function wasTried({ error }: { error?: string | undefined }): boolean {
  return !SKIP_REASONS.some((reason) => reason === error);
}

/** Describes the final of one request, which the serving node writes. */
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
  /** Is the status that the client saw. */
  status: integer,
  ...tokenFields(tokens, tokens.optional()),
  /** Is the charge of the whole request in charged tokens. The worker recomputes it from the counts and the price version. */
  charge: tokens,
  /** Is the SHA-256 (hex) of the API key that the client presented. It exposes a live record that exists only in Redis, is absent where the node was lost, and is not stored. */
  key_hash: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  basis: z.enum(['reported', 'estimated']),
  /** Names the dearer services that the request was charged for; absent when there are none. */
  premiums: z.array(premiumSchema).min(1).max(PREMIUMS_MAX).optional(),
  /** Names the budgets in which the request was admitted, as `readClaims` reads them; absent without budgets. */
  budgets: z.string().regex(CLAIMS_TEXT).optional(),
  /** Is the time at which the request arrived, in Unix ms. */
  started_at: unixMs,
  first_token_ms: durationMs.nullable(),
  duration_ms: durationMs,
  /** Is the request's span at the node, where the request is traced, so that settlement and booking join its trace. */
  traceparent: z.string().regex(TRACEPARENT).optional(),
});
export type UsageFinal = z.infer<typeof usageFinalSchema>;

/**
 * Describes the event of the REAP function: the node vanished, and the last checkpoint is charged. Its counts are unknown; a later event with seq 1
 * brings them.
 */
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

/** Describes the event of WITHDRAW (seq 0), and of SETTLE on a closing subscription (seq 2). `delta` tokens leave the subscription and are refunded. */
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
  /** Is a UUIDv7 that the node makes. Its timestamp gives the partition's day (UTC), so a retry always meets the same partition. */
  rid: z.uuid(),
  seq: z.union([z.literal(0), z.literal(1), z.literal(2)]),
  /** Counts the charged tokens that leave the subscription. Only a correction (seq 1) may be negative. */
  delta: z.number().int().min(-Number.MAX_SAFE_INTEGER).max(Number.MAX_SAFE_INTEGER),
  payload: usagePayloadSchema,
});
export type UsageEvent = z.infer<typeof usageEventSchema>;

/**
 * The relay puts texts from the outbox into BullMQ unchanged. The worker parses and checks them one by one, so that one poison event cannot block its
 * batch.
 */
export interface RelayedEvent {
  /** Is the shard's tag, such as `s03`. */
  shard: string;
  /** Is the shard's epoch when the relay read the event: usage of an earlier epoch left no trace in today's Redis. It is '' where no outbox was involved. */
  epoch: string;
  /** Is the Redis stream id as `<ms>-<n>`. */
  outboxId: string;
  rid: string;
  seq: string;
  delta: string;
  payload: string;
}
/** Names a subscription that lacked tokens for a request. `neededTokens` is the least that the request needs, in charged tokens. */
export interface FundsHint {
  accountId: number;
  modelId: number;
  neededTokens: number;
}
export interface UsageJob {
  events: RelayedEvent[];
  /**
   * Names subscriptions whose requests were refused for lack of tokens, so that auto-recharge evaluates them at once. Losing a hint only delays that to
   * the next settlement or sweep.
   */
  refusedForFunds?: FundsHint[];
}
export const USAGE_QUEUE = 'usage';
/** Names (rid, seq): with the rid alone, a reap would make a node forget an unsettled final (docs/design/metering.md#events). */
export interface Acknowledgement {
  rid: string;
  seq: number;
}
