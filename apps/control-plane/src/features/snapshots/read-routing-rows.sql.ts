import {
  AUTH_TYPES,
  FURTHER_ENDPOINTS,
  UPSTREAM_PROTOCOLS,
  isChargedToken,
  USAGE_ROWS,
  WEIGHT_FIELDS,
  weightFields,
} from '@tollgate/contracts';
import {
  MODEL_KINDS,
  LIMIT_FIELD_SETTINGS,
  failoverSchema,
  priceTierSchema,
  UPSTREAM_FIELDS,
  type RouteRow,
  type RoutingRows,
} from '@tollgate/snapshot';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import {
  familyOf,
  modelFamilyTableSchema,
  shippedFamilies,
  type ModelFamilyTable,
} from './model-families.ts';

const id = z.number().int().positive();
const count = z.number().int().nonnegative();

/** Describes the rows that PostgreSQL's JSON functions return, with times as Unix ms. */
const routingRows = z.strictObject({
  models: z.array(
    z.strictObject({
      id,
      name: z.string(),
      aliases: z.array(z.string()),
      displayName: z.string(),
      kind: z.enum(MODEL_KINDS),
      ownedBy: z.string(),
      createdAtMs: count,
      contextWindow: count.nullable(),
      maxOutputTokens: count.nullable(),
      defaultOutputTokens: count.nullable(),
      unboundedInputTokens: count.nullable(),
      isOnShelf: z.boolean(),
      readsMoreThanSent: z.boolean(),
      cachesPrompts: z.boolean(),
      failover: failoverSchema,
    }),
  ),
  prices: z.array(
    z.strictObject({
      id,
      modelId: id,
      effectiveAtMs: count,
      weights: z.strictObject(weightFields(count, count.optional())),
      multipliers: z.record(z.string(), count),
      tiers: z.array(priceTierSchema),
      pricePerMillion: count,
      isUndeclaredZero: z.boolean(),
    }),
  ),
  upstreams: z.array(
    z.strictObject({
      id,
      name: z.string(),
      protocol: z.enum(UPSTREAM_PROTOCOLS),
      baseUrl: z.string(),
      authType: z.enum(AUTH_TYPES),
      sealedApiKey: z.string().nullable(),
      headers: z.record(z.string(), z.string()),
      connectTimeoutMs: count,
      firstTokenTimeoutMs: count,
      idleTimeoutMs: count,
      totalTimeoutMs: count,
      maxConcurrency: count.nullable(),
      stopsBillingOnClose: z.boolean().nullable(),
      endpoints: z.array(z.enum(FURTHER_ENDPOINTS)).nullable(),
      passesFileIds: z.boolean(),
      fields: z.enum(UPSTREAM_FIELDS),
      enabled: z.boolean(),
      credentials: z.array(
        z.strictObject({
          id: count,
          authType: z.enum(AUTH_TYPES),
          sealed: z.string(),
          weight: count,
          rpm: count.nullable(),
          tpm: count.nullable(),
          enabled: z.boolean(),
        }),
      ),
    }),
  ),
  routes: z.array(
    z.strictObject({
      id,
      modelId: id,
      upstreamId: id,
      upstreamModel: z.string(),
      priority: z.number().int(),
      weight: count,
      enabled: z.boolean(),
      outputLimitField: z.enum(LIMIT_FIELD_SETTINGS),
      contextWindow: count.nullable(),
    }),
  ),
  spokenProtocols: z.array(z.string()),
  /** Is the imported table; null where the shipped one applies. */
  families: modelFamilyTableSchema.nullable(),
});

/** One statement reads all lists, so that they are of one moment at any isolation level. */
const SELECT_ROUTING_ROWS = `
SELECT
  (SELECT coalesce(jsonb_agg(jsonb_build_object(
     'id', id, 'name', name, 'aliases', to_jsonb(aliases), 'displayName', display_name, 'kind', kind, 'ownedBy', owned_by, 'createdAtMs', floor(extract(epoch FROM created_at) * 1000)::bigint,
     'contextWindow', context_window, 'maxOutputTokens', max_output_tokens, 'defaultOutputTokens', default_output_tokens, 'unboundedInputTokens', unbounded_input_tokens, 'isOnShelf', is_on_shelf, 'readsMoreThanSent', reads_more_than_sent, 'cachesPrompts', caches_prompts, 'failover', failover)), '[]')
   FROM models WHERE deleted_at IS NULL) AS models,
  (SELECT coalesce(jsonb_agg(jsonb_build_object(
     'id', price.id, 'modelId', price.model_id, 'effectiveAtMs', greatest(0, floor(extract(epoch FROM price.effective_at) * 1000))::bigint,
     'weights', jsonb_strip_nulls(jsonb_build_object(${WEIGHT_FIELDS.map((name) => `'${name}', price.${name}`).join(', ')})), 'multipliers', price.multipliers, 'tiers', price.tiers, 'pricePerMillion', price.price_per_million, 'isUndeclaredZero', NOT price.is_free AND (price.price_per_million = 0 OR price.weight_input + price.weight_output = 0))), '[]')
   FROM price_versions price JOIN models ON models.id = price.model_id AND models.deleted_at IS NULL) AS prices,
  (SELECT coalesce(jsonb_agg(jsonb_build_object(
     'id', id, 'name', name, 'protocol', protocol, 'baseUrl', base_url, 'authType', auth_type, 'sealedApiKey', sealed_api_key, 'headers', headers,
     'connectTimeoutMs', connect_timeout_ms, 'firstTokenTimeoutMs', first_token_timeout_ms, 'idleTimeoutMs', idle_timeout_ms, 'totalTimeoutMs', total_timeout_ms,
     'maxConcurrency', max_concurrency, 'stopsBillingOnClose', stops_billing_on_close, 'endpoints', endpoints, 'passesFileIds', passes_file_ids, 'fields', fields, 'enabled', enabled,
     'credentials', (CASE WHEN sealed_api_key IS NULL THEN '[]' ELSE jsonb_build_array(jsonb_build_object(
        'id', 0, 'authType', auth_type, 'sealed', sealed_api_key, 'weight', credential_weight, 'rpm', credential_rpm, 'tpm', credential_tpm, 'enabled', credential_enabled)) END)
       || (SELECT coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'authType', c.auth_type, 'sealed', c.sealed, 'weight', c.weight, 'rpm', c.rpm, 'tpm', c.tpm, 'enabled', c.enabled) ORDER BY c.id), '[]')
           FROM upstream_credentials c WHERE c.upstream_id = upstreams.id))), '[]')
   FROM upstreams WHERE deleted_at IS NULL) AS upstreams,
  (SELECT coalesce(jsonb_agg(jsonb_build_object(
     'id', id, 'modelId', model_id, 'upstreamId', upstream_id, 'upstreamModel', upstream_model, 'priority', priority, 'weight', weight, 'enabled', enabled,
     'outputLimitField', output_limit_field, 'contextWindow', context_window)), '[]')
   FROM routes) AS routes,
  (SELECT spoken_protocols FROM fleet_settings) AS "spokenProtocols",
  (SELECT document FROM model_families) AS families`;

function familyFactsOf(
  { upstreamModel }: { upstreamModel: string },
  table: ModelFamilyTable,
): Pick<RouteRow, 'familyLimitField' | 'familyContextWindow'> {
  const family = familyOf(table, upstreamModel);
  return {
    familyLimitField: family?.output_limit_field ?? null,
    familyContextWindow: family?.context_window ?? null,
  };
}

const routedRow = z.object({ upstream_model: z.string(), kind: z.enum(MODEL_KINDS) });

/** Returns the models that routes send to an upstream, the preferred route first. */
export async function routedModels(
  tx: Pick<EntityManager, 'query'>,
  upstreamId: number,
): Promise<z.output<typeof routedRow>[]> {
  const rows: unknown[] = await tx.query(
    'SELECT r.upstream_model, m.kind FROM routes r JOIN models m ON m.id = r.model_id WHERE r.upstream_id = $1 ORDER BY r.priority, r.id',
    [upstreamId],
  );
  return rows.map((row) => routedRow.parse(row));
}

const modelReading = z.object({
  id: z.number(),
  name: z.string(),
  context_window: z.number().nullable(),
  /** Is the weight of the dearest input class in any tier, in millionths; null before a price is in force. */
  dearest_weight: z.coerce.number().nullable(),
  upstream_ids: z.array(z.number()),
});
export type ModelReading = z.output<typeof modelReading>;

const PROMPT_WEIGHTS = USAGE_ROWS.filter((row) => isChargedToken(row) && row.side === 'prompt').map(
  ({ name }) => `weight_${name}`,
);
const TIER_WEIGHTS = PROMPT_WEIGHTS.map((name) => `(tier -> 'weights' ->> '${name}')::bigint`);

/** Returns for each model, by id, the input that it may be made to read, its weight, and the upstreams of its routes. */
export async function modelReadings(
  tx: Pick<EntityManager, 'query'>,
  ids: readonly number[],
): Promise<ReadonlyMap<number, ModelReading>> {
  const rows: unknown[] = await tx.query(
    `SELECT id, name, context_window,
       (SELECT greatest(${PROMPT_WEIGHTS.join(', ')}, (SELECT max(greatest(${TIER_WEIGHTS.join(', ')})) FROM jsonb_array_elements(tiers) AS tier)) FROM price_versions
        WHERE model_id = models.id AND effective_at <= now()
        ORDER BY effective_at DESC, id DESC LIMIT 1) AS dearest_weight,
       ARRAY(SELECT DISTINCT upstream_id FROM routes WHERE model_id = models.id AND enabled) AS upstream_ids
     FROM models WHERE id = ANY($1) AND deleted_at IS NULL`,
    [ids],
  );
  const found = rows.map((row) => modelReading.parse(row));
  return new Map(found.map((model) => [model.id, model]));
}

/** Reads PostgreSQL's part of the snapshot. No other code reads these tables together. */
export async function readRoutingRows(tx: EntityManager): Promise<RoutingRows> {
  const [row]: unknown[] = await tx.query(SELECT_ROUTING_ROWS);
  const { families, routes, ...rows } = routingRows.parse(row);
  const table = families ?? shippedFamilies();
  return { ...rows, routes: routes.map((route) => ({ ...route, ...familyFactsOf(route, table) })) };
}
