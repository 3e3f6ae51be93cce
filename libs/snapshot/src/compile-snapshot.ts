import { CREDENTIALS_ABILITY, isServed } from '@tollgate/contracts';
import { knownWindow } from './known-window.ts';
import type {
  CredentialRow,
  ModelRow,
  PriceRow,
  RouteRow,
  RoutingRows,
  UpstreamRow,
} from './routing-rows.ts';
import {
  SNAPSHOT_FORMAT,
  type PriceVersion,
  type SnapshotDocument,
  type SnapshotModel,
  type SnapshotRoute,
  type SnapshotUpstream,
} from './snapshot-document.ts';

/**
 * Compiles the routing document from the rows alone: no clock, no order of rows, so the same rows always give the same checksum.
 * An upstream that not every node can use is left out, as a node refuses a document that it cannot read.
 * A model without a price version is left out, since nothing could be charged for it; `findProblems` names it.
 */
export function compileSnapshot(rows: RoutingRows): SnapshotDocument {
  const pricesByModel = Map.groupBy(rows.prices, (price) => price.modelId);
  const models = rows.models.filter((model) => pricesByModel.has(model.id));
  const upstreams = rows.upstreams.flatMap((upstream) => {
    const served = upstream.enabled ? withServed(upstream, rows.spokenProtocols) : null;
    return served ?? [];
  });
  const modelIds = new Set(models.map((model) => model.id));
  const upstreamIds = new Set(upstreams.map((upstream) => upstream.id));
  const routes = rows.routes.filter(
    (route) => route.enabled && modelIds.has(route.modelId) && upstreamIds.has(route.upstreamId),
  );
  return {
    format: SNAPSHOT_FORMAT,
    models: models.toSorted(byId).map((model) => ({
      ...toSnapshotModel(model, pricesByModel.get(model.id) ?? []),
      context_window: knownWindow(model, rows),
    })),
    upstreams: upstreams.toSorted(byId).map(toSnapshotUpstream),
    routes: routes.toSorted(byId).map(toSnapshotRoute),
  };
}

/**
 * An upstream with the credentials that are enabled and that no node refuses; null where it has some and none is left. While a node cannot share
 * requests among several, its own is the only one, without limits.
 */
export function withServed(upstream: UpstreamRow, reported: readonly string[]): UpstreamRow | null {
  const { protocol, authType } = upstream;
  if (upstream.credentials.length === 0)
    return isServed({ protocol, authType }, reported) ? upstream : null;
  const canShare = reported.includes(CREDENTIALS_ABILITY);
  const credentials = upstream.credentials.filter(
    (each) =>
      each.enabled &&
      (canShare || each.id === OWN_CREDENTIAL) &&
      isServed({ protocol, authType: each.authType }, reported),
  );
  if (credentials.length === 0) return null;
  return { ...upstream, credentials: canShare ? credentials : credentials.map(withoutLimits) };
}

function byId(a: { id: number }, b: { id: number }): number {
  return a.id - b.id;
}

function toSnapshotModel(row: ModelRow, prices: readonly PriceRow[]): SnapshotModel {
  return {
    id: row.id,
    name: row.name,
    ...(row.aliases.length > 0 && { aliases: [...row.aliases] }),
    display_name: row.displayName,
    kind: row.kind,
    owned_by: row.ownedBy,
    created: Math.floor(row.createdAtMs / 1000),
    context_window: row.contextWindow,
    max_output_tokens: row.maxOutputTokens,
    ...(row.defaultOutputTokens !== null && { default_output_tokens: row.defaultOutputTokens }),
    unbounded_input_tokens: row.unboundedInputTokens,
    is_on_shelf: row.isOnShelf,
    ...(Object.keys(row.failover).length > 0 && { failover: { ...row.failover } }),
    ...(row.readsMoreThanSent && { reads_more_than_sent: true }),
    ...(row.cachesPrompts && { caches_prompts: true }),
    // The later made of two versions with one effective time comes last and is in force.
    prices: prices
      .toSorted((a, b) => a.effectiveAtMs - b.effectiveAtMs || a.id - b.id)
      .map(toPriceVersion),
  };
}

function toPriceVersion(row: PriceRow): PriceVersion {
  return {
    id: row.id,
    effective_at: row.effectiveAtMs,
    ...row.weights,
    ...(row.tiers.length > 0 && { tiers: [...row.tiers] }),
    ...(Object.keys(row.multipliers).length > 0 && { multipliers: { ...row.multipliers } }),
    price_per_million: row.pricePerMillion,
  };
}

const OWN_CREDENTIAL = 0;

function hasLimits({ rpm, tpm }: CredentialRow): boolean {
  return rpm !== null || tpm !== null;
}

function withoutLimits(credential: CredentialRow): CredentialRow {
  return { ...credential, rpm: null, tpm: null };
}

/** One that is the upstream's own alone, without limits, is written as earlier nodes read it. */
function sharedOf({ credentials }: UpstreamRow): Pick<SnapshotUpstream, 'credentials'> {
  if (credentials.every((each) => each.id === OWN_CREDENTIAL && !hasLimits(each))) return {};
  return {
    credentials: credentials.toSorted(byId).map(({ id, weight, sealed, rpm, tpm }) => ({
      ...{ id, weight },
      sealed_api_key: sealed,
      ...(rpm !== null && { rpm }),
      ...(tpm !== null && { tpm }),
    })),
  };
}

function toSnapshotUpstream(row: UpstreamRow): SnapshotUpstream {
  return {
    id: row.id,
    name: row.name,
    protocol: row.protocol,
    base_url: row.baseUrl,
    sealed_api_key: row.sealedApiKey,
    headers: { ...row.headers },
    connect_timeout_ms: row.connectTimeoutMs,
    first_token_timeout_ms: row.firstTokenTimeoutMs,
    idle_timeout_ms: row.idleTimeoutMs,
    total_timeout_ms: row.totalTimeoutMs,
    max_concurrency: row.maxConcurrency,
    ...(row.stopsBillingOnClose !== null && { stops_billing_on_close: row.stopsBillingOnClose }),
    ...(row.endpoints !== null && { endpoints: [...row.endpoints] }),
    ...(row.passesFileIds && { passes_file_ids: true }),
    ...(row.fields === 'known' && { fields: row.fields }),
    ...sharedOf(row),
  };
}

export function toSnapshotRoute(row: RouteRow): SnapshotRoute {
  return {
    id: row.id,
    model_id: row.modelId,
    upstream_id: row.upstreamId,
    upstream_model: row.upstreamModel,
    priority: row.priority,
    weight: row.weight,
    output_limit_field: limitFieldOf(row),
    ...(row.contextWindow !== null && { context_window: row.contextWindow }),
  };
}

/** Whatever speaks the protocol knows `max_tokens`, but for the families that are known to refuse it. */
function limitFieldOf({
  outputLimitField,
  familyLimitField,
}: RouteRow): SnapshotRoute['output_limit_field'] {
  if (outputLimitField !== 'auto') return outputLimitField;
  return familyLimitField ?? 'max_tokens';
}
