import {
  FORMATS,
  FURTHER_ENDPOINTS,
  premiumSchema,
  UPSTREAM_PROTOCOLS,
  weightFields,
  CREDENTIALS_MAX,
} from '@tollgate/contracts';
import { z } from 'zod';

/** Describes the routing document that every node loads whole and swaps atomically. The control plane publishes it; it never holds keys, accounts or balances. A node refuses a `format` it does not know and keeps its last good one. */
export const SNAPSHOT_FORMAT = FORMATS.snapshot;

const id = z.number().int().positive();
const milliseconds = z.number().int().positive();
/** Holds a weight in millionths: 1_000_000 is weight 1. */
const microWeight = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);

export const OUTPUT_LIMIT_FIELDS = ['max_tokens', 'max_completion_tokens'] as const;
export type OutputLimitField = (typeof OUTPUT_LIMIT_FIELDS)[number];
/** Lists the administrators' settings; with `auto`, the family of the model decides. */
export const LIMIT_FIELD_SETTINGS = ['auto', ...OUTPUT_LIMIT_FIELDS] as const;
/** Selects the fields of requests that reach an upstream: those that a vendor or a server documents as safe, or all but the routing fields of the closed table. */
export const UPSTREAM_FIELDS = ['known', 'all'] as const;
export type UpstreamFields = (typeof UPSTREAM_FIELDS)[number];
export const MODEL_KINDS = ['chat', 'embedding'] as const;

/** A price version has at most so many tiers beside its own weights. */
export const PRICE_TIERS_MAX = 4;
/** An absent weight of an optional class is its parent's. */
const microWeights = weightFields(microWeight, microWeight.optional());

/** Holds the weights of a request whose charged prompt tokens are more than a threshold, in place of those of its price version. */
export const priceTierSchema = z.strictObject({
  above_prompt_tokens: z.number().int().positive(),
  weights: z.strictObject(microWeights),
});
export type PriceTier = z.infer<typeof priceTierSchema>;

export const priceVersionSchema = z.strictObject({
  id,
  /** Is the time from which the version is in force, in Unix ms; at admission the last version not after now applies. */
  effective_at: z.number().int().nonnegative(),
  ...microWeights,
  /** The tiers ascend by their thresholds; absent without any. */
  tiers: z.array(priceTierSchema).min(1).max(PRICE_TIERS_MAX).optional(),
  /** Maps premiums (`service_tier=priority`) to millionths; absent without any. */
  multipliers: z.record(premiumSchema, microWeight).optional(),
  /** Is the price of a million charged tokens in micro-units, by which budgets in money count. */
  price_per_million: z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER).optional(),
});
export type PriceVersion = z.infer<typeof priceVersionSchema>;

export const REPLAYS = ['safe', 'always', 'never'] as const;

/** `error`: no upstream of the model answered. `overflow`: the prompt is too long for all. `rest`: all are left alone for now. */
export const FALLBACK_CONDITIONS = ['error', 'overflow', 'rest', 'budget'] as const;
export type FallbackCondition = (typeof FALLBACK_CONDITIONS)[number];
const FALLBACKS_MAX = 4;

/** Holds a model's settings for upstreams that fail; each is absent where the default holds. */
export const failoverSchema = z.strictObject({
  /** Says which requests may be sent again while the client has seen no content. When it is absent, `always` holds towards another route and `safe` towards the same one. */
  replay: z.enum(REPLAYS).optional(),
  /** Limits, for JSON, the time to the first byte of the answer. */
  first_byte_timeout_ms: milliseconds.optional(),
  /** Limits, for streams, the time to the first content, instead of the upstream's limit. */
  first_token_timeout_ms: milliseconds.optional(),
  /** Limits, for streams, the silence between two pieces of the answer, instead of the upstream's limit. */
  idle_timeout_ms: milliseconds.optional(),
  /** Starts a second stream once the first is slower than 95 of 100 first tokens were; absent means never. */
  hedge: z
    .strictObject({
      /** Limits the share of the model's streams, per node and hour. */
      max_percent: z.int().min(1).max(100),
      /** Limits the tokens that hedges may cost beside what is paid, estimated, per node and hour. */
      max_tokens_per_hour: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
    })
    .optional(),
  /** Says for streams whether a plain text that breaks off is continued on another upstream. When it is absent, only an upstream that continues a prefill natively does so; when false, the stream ends with an error. */
  continues: z.boolean().optional(),
  /** Answers name their upstream in `x-tollgate-upstream`. Absent: they do not. */
  names_upstream: z.boolean().optional(),
  /** Names other models that answer instead, on a subscription of their own, in order. */
  fallbacks: z
    .array(
      z.strictObject({
        model: z.string().min(1).max(256),
        on: z.array(z.enum(FALLBACK_CONDITIONS)).min(1),
      }),
    )
    .min(1)
    .max(FALLBACKS_MAX)
    .optional(),
});
export type FailoverSettings = z.infer<typeof failoverSchema>;

export const snapshotModelSchema = z.strictObject({
  id,
  name: z.string().min(1).max(256),
  /** Lists further names it is called by; absent when it has none. */
  aliases: z.array(z.string().min(1).max(256)).min(1).optional(),
  display_name: z.string(),
  kind: z.enum(MODEL_KINDS),
  owned_by: z.string(),
  /** Is in Unix seconds, shown in the model list. */
  created: z.number().int().nonnegative(),
  context_window: z.number().int().positive().nullable(),
  max_output_tokens: z.number().int().positive().nullable(),
  /** Limits the output tokens of a request without a limit; absent where the node's default applies. */
  default_output_tokens: z.number().int().positive().optional(),
  /** Is the number of tokens held for each input that no byte of the request bounds (a document, a file by its id); null: the whole context window is held. */
  unbounded_input_tokens: z.number().int().nonnegative().nullable(),
  is_on_shelf: z.boolean(),
  /** Is absent when all is default. */
  failover: failoverSchema.optional(),
  /** Is true for a model that searches or reads by itself: its prompt figure may exceed what it was sent. It is absent for any other. */
  reads_more_than_sent: z.boolean().optional(),
  /** Requests that mark nothing for a cache of the provider are marked. Absent where they are not. */
  caches_prompts: z.boolean().optional(),
  /** Holds at least one price, ascending by effective_at. */
  prices: z.array(priceVersionSchema).min(1),
});
export type SnapshotModel = z.infer<typeof snapshotModelSchema>;

export const CREDENTIAL_WEIGHT_MAX = 1_000;
/** `id`: 0 is the upstream's own. */
export const snapshotCredentialSchema = z.strictObject({
  id: z.number().int().nonnegative(),
  weight: z.number().int().positive().max(CREDENTIAL_WEIGHT_MAX),
  /** Is an envelope as `sealed_api_key` of the upstream; an id above 0 binds it too. */
  sealed_api_key: z.string(),
  /** Is what its account may send in a minute of each model, as its operator declares; absent: nothing is declared. */
  rpm: z.number().int().positive().optional(),
  tpm: z.number().int().positive().optional(),
});
export type SnapshotCredential = z.infer<typeof snapshotCredentialSchema>;

export const snapshotUpstreamSchema = z.strictObject({
  id,
  name: z.string(),
  protocol: z.enum(UPSTREAM_PROTOCOLS),
  /** Is the address without trailing slash, including the version segment: `https://api.openai.com/v1`. Nodes append `/chat/completions`, `/messages`, `/embeddings`, `/responses`, `/completions`. */
  base_url: z.url(),
  /** Is the AES-256-GCM envelope of the upstream's key (`sealed-secret.ts`), bound to the upstream's id; null means that none is needed. */
  sealed_api_key: z.string().nullable(),
  /** Holds extra request headers, already validated (no CR/LF, no hop-by-hop, no authorization). */
  headers: z.record(z.string(), z.string()),
  connect_timeout_ms: milliseconds,
  first_token_timeout_ms: milliseconds,
  idle_timeout_ms: milliseconds,
  total_timeout_ms: milliseconds,
  max_concurrency: z.number().int().positive().nullable(),
  /** Is the administrator's word on whether closing a stream ends its billing; when it is absent, what is known of the host decides (`stopsBillingOnClose`). */
  stops_billing_on_close: z.boolean().optional(),
  /** Is the administrator's word on what it has beside every server of its protocol; when it is absent, what is known of the host decides (`endpointsOf`). */
  endpoints: z.array(z.enum(FURTHER_ENDPOINTS)).optional(),
  /** Is true where requests may name files of the provider's account, which all customers share. It is absent where they may not. */
  passes_file_ids: z.boolean().optional(),
  /** Is absent for `all`. */
  fields: z.enum(UPSTREAM_FIELDS).optional(),
  /** The credentials that share its requests, in place of `sealed_api_key`. Absent where that is the only one: nodes need the ability `credentials`. */
  credentials: z.array(snapshotCredentialSchema).min(1).max(CREDENTIALS_MAX).optional(),
});
export type SnapshotUpstream = z.infer<typeof snapshotUpstreamSchema>;

export const snapshotRouteSchema = z.strictObject({
  id,
  model_id: id,
  upstream_id: id,
  upstream_model: z.string().min(1),
  /** Orders the routes, lowest first. */
  priority: z.number().int(),
  weight: z.number().int().positive(),
  output_limit_field: z.enum(OUTPUT_LIMIT_FIELDS),
  /** Counts tokens where this route takes another number than its model says; absent when it does not. */
  context_window: z.number().int().positive().optional(),
});
export type SnapshotRoute = z.infer<typeof snapshotRouteSchema>;

export const snapshotDocumentSchema = z.strictObject({
  format: z.literal(SNAPSHOT_FORMAT),
  models: z.array(snapshotModelSchema),
  /** Lists enabled upstreams only. */
  upstreams: z.array(snapshotUpstreamSchema),
  /** Lists enabled routes to enabled upstreams only. */
  routes: z.array(snapshotRouteSchema),
});
export type SnapshotDocument = z.infer<typeof snapshotDocumentSchema>;

/** Has the form in PostgreSQL, in Redis and on a node's disk. `checksum` is SHA-256 (hex) of the canonical JSON of `document`. */
export const publishedSnapshotSchema = z.strictObject({
  version: z.number().int().positive(),
  checksum: z.string().length(64),
  published_at: z.number().int(),
  document: snapshotDocumentSchema,
});
export type PublishedSnapshot = z.infer<typeof publishedSnapshotSchema>;
