import {
  AUTH_TYPES,
  BASE_URL_RULES,
  CREDENTIALS_MAX,
  FURTHER_ENDPOINTS,
  UPSTREAM_PROTOCOLS,
  VERTEX_RULES,
  upstreamAuthSchema,
  upstreamKeySchema,
} from '@tollgate/contracts';
import { PRESET_NAMES, UPSTREAM_FIELDS } from '@tollgate/snapshot';
import { z } from 'zod';
import { idField, timeField } from '../../platform/http/answer-fields.ts';
import { booleanFilter, listQuery } from '../../platform/http/list-query.ts';
import {
  furtherEndpointField,
  upstreamProtocolField,
} from '../../platform/openapi/named-tables.ts';
import { nameText } from '../../platform/http/text-field.ts';
import { upstreamHeadersSchema } from './upstream-headers.ts';

/** Is longer than any provider's own limit; a column of PostgreSQL would take two billion. */
const TIMEOUT_MS_MAX = 3_600_000;
const timeoutMs = z.number().int().min(1).max(TIMEOUT_MS_MAX);

export const KEY_GIVEN_AGAIN =
  'must be given again with another base_url: a key is sent only to the address that it was given for';
export const ONE_CREDENTIAL = 'must not be given beside api_key';
export const AUTH_NOT_TAKEN = 'must be of a type that the protocol takes';
export const FURTHER_STAY =
  'must stay, with the protocol, while the upstream has further credentials: delete them first';
export const TOO_MANY_CREDENTIALS = `is one too many: an upstream has at most ${CREDENTIALS_MAX} credentials`;
export const NEEDED_WITHOUT_PRESET = 'is required without a preset';
export const BLANK_TO_FILL =
  'is required with this preset: its address differs by customer or installation';
export const EMBEDDINGS_ARE_ROUTED =
  'embedding models are routed here, and the anthropic protocol has no embeddings';

const settings = z.strictObject({
  name: nameText(128),
  protocol: z
    .enum(UPSTREAM_PROTOCOLS)
    .optional()
    .meta({ 'x-rules': [EMBEDDINGS_ARE_ROUTED, NEEDED_WITHOUT_PRESET] }),
  /** Includes the version segment, as in `https://api.openai.com/v1`. */
  base_url: z
    .string()
    .min(1)
    .max(2048)
    .optional()
    .meta({
      format: 'uri',
      'x-rules': [
        ...BASE_URL_RULES,
        ...VERTEX_RULES,
        NEEDED_WITHOUT_PRESET,
        BLANK_TO_FILL,
        FURTHER_STAY,
      ],
    }),
  /** Is write-only. */
  api_key: upstreamKeySchema
    .nullable()
    .optional()
    .meta({ 'x-rules': [KEY_GIVEN_AGAIN, TOO_MANY_CREDENTIALS] }),
  /** Is write-only: what the provider asks for, by its kind. `api_key` is short for `{"type": "api_key"}`. */
  auth: upstreamAuthSchema.optional().meta({ 'x-rules': [ONE_CREDENTIAL, AUTH_NOT_TAKEN] }),
  headers: upstreamHeadersSchema.optional(),
  connect_timeout_ms: timeoutMs.optional(),
  first_token_timeout_ms: timeoutMs.optional(),
  idle_timeout_ms: timeoutMs.optional(),
  total_timeout_ms: timeoutMs.optional(),
  max_concurrency: z.number().int().min(1).max(1_000_000).nullable().optional(),
  /** Is null where what is known of the host decides. */
  stops_billing_on_close: z.boolean().nullable().optional(),
  /** Is null where the facts known of the host decide. */
  endpoints: z.array(z.enum(FURTHER_ENDPOINTS)).max(FURTHER_ENDPOINTS.length).nullable().optional(),
  passes_file_ids: z.boolean().optional(),
  /** Is `all` by default at the vendor's own address, else `known`. */
  fields: z.enum(UPSTREAM_FIELDS).optional(),
  enabled: z.boolean().optional(),
});

/** A preset gives whatever is left out. */
export const createUpstreamSchema = settings
  .extend({ preset: z.enum(PRESET_NAMES).optional() })
  .meta({
    'x-example': {
      name: 'main',
      protocol: UPSTREAM_PROTOCOLS[0],
      base_url: 'https://api.openai.com/v1',
      api_key: 'sk-example',
    },
  });
export type CreateUpstream = z.infer<typeof createUpstreamSchema>;

/** An omitted `api_key` is kept, and null removes it. */
export const updateUpstreamSchema = settings
  .partial()
  .meta({ 'x-example': { max_concurrency: 200 } });
export type UpdateUpstream = z.infer<typeof updateUpstreamSchema>;

export const upstreamListSchema = listQuery({
  sorts: ['id', 'name', 'created_at'],
  sort: 'id',
  filters: { protocol: z.enum(UPSTREAM_PROTOCOLS).optional(), enabled: booleanFilter.optional() },
});
export type UpstreamList = z.infer<typeof upstreamListSchema>;

const answeredTimeoutMs = z.int().describe('Milliseconds');
export const upstreamResponseSchema = z
  .object({
    id: idField,
    name: z.string(),
    protocol: upstreamProtocolField,
    base_url: z.string(),
    has_api_key: z.boolean().describe('A credential is stored; it is never answered'),
    auth_type: z.enum(AUTH_TYPES).describe('The kind of the credential'),
    headers: z.record(z.string(), z.string()),
    connect_timeout_ms: answeredTimeoutMs,
    first_token_timeout_ms: answeredTimeoutMs,
    idle_timeout_ms: answeredTimeoutMs,
    total_timeout_ms: answeredTimeoutMs,
    max_concurrency: z.int().nullable().describe('Requests at a time and node; null = no limit'),
    stops_billing_on_close: z
      .boolean()
      .nullable()
      .describe(
        'Whether the provider stops billing a stream that is closed; null = known by the host, see `closes_streams`',
      ),
    closes_streams: z
      .boolean()
      .describe(
        'Streams whose client has left are closed at once; false: they are read on for at most 30 s or 4,096 tokens, to charge what the provider bills',
      ),
    endpoints: z
      .array(furtherEndpointField)
      .nullable()
      .describe(
        'What the upstream has beside the endpoints that every server of its protocol has; null = known by the host, see `has_endpoints`',
      ),
    has_endpoints: z
      .array(furtherEndpointField)
      .describe('Endpoints whose requests and answers pass with their own bytes'),
    passes_file_ids: z
      .boolean()
      .describe(
        "Requests may name files, vector stores and skills of the provider's account by their ids. All customers of this upstream share them: each may read every one",
      ),
    fields: z
      .enum(UPSTREAM_FIELDS)
      .describe(
        'Which fields of requests reach the upstream. `known`: those of the vendor and safe ones of servers; others are dropped, and named in `x-tollgate-dropped`',
      ),
    enabled: z.boolean(),
    created_at: timeField,
    updated_at: timeField,
  })
  .meta({ id: 'Upstream' });
export type UpstreamResponse = z.output<typeof upstreamResponseSchema>;

export const presetsSchema = z.object({
  data: z.array(
    z
      .object({
        name: z.enum(PRESET_NAMES),
        title: z.string(),
        protocol: upstreamProtocolField,
        base_url: z
          .string()
          .describe(
            'A part in braces differs by customer or installation; `base_url` is then given',
          ),
        needs_key: z.boolean(),
        auth_types: z.array(z.enum(AUTH_TYPES)).describe('The usual kind comes first'),
        endpoints: z.array(furtherEndpointField),
        stops_billing_on_close: z.boolean(),
        close_source: z.url().nullable().describe('The page that states it, or the contrary'),
        source: z.string().describe('The page of the provider that states the address'),
      })
      .meta({ id: 'UpstreamPreset' }),
  ),
});
export type Presets = z.output<typeof presetsSchema>;
