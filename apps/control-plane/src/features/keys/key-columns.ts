import { limitFields, LIMIT_NAMES, type KeyLimits } from '@tollgate/contracts';
import { IN_FUTURE } from '../../platform/http/list-query.ts';
import { invalidField } from '../../platform/http/refusal.ts';
import type { ApiKeyRow } from './api-key.entity.ts';
import type { KeyResponse, UpdateKey } from './keys.dto.ts';

/** Returns the columns that a body sets. `was` holds the limits of the changed key. */
export function columnsOf(body: UpdateKey, was: Partial<KeyLimits> = {}): Partial<ApiKeyRow> {
  if (body.expires_at && Date.parse(body.expires_at) <= Date.now())
    throw invalidField('expires_at', IN_FUTURE);
  return {
    ...(body.name !== undefined && { name: body.name }),
    ...(body.allowed_models !== undefined && { allowedModels: body.allowed_models }),
    limits: limitsAfter(body, was),
    ...(body.counts_cache_reads !== undefined && { countsCacheReads: body.counts_cache_reads }),
    ...(body.rates !== undefined && { rates: body.rates }),
    ...(body.expires_at !== undefined && {
      expiresAt: body.expires_at === null ? null : new Date(body.expires_at),
    }),
    ...(body.ip_allowlist !== undefined && { ipAllowlist: body.ip_allowlist }),
  };
}

export function toKeyResponse(row: ApiKeyRow): KeyResponse {
  return {
    id: row.id,
    user_id: row.userId,
    name: row.name,
    key_prefix: row.keyPrefix,
    allowed_models: row.allowedModels,
    ...limitFields((name) => row.limits[name] ?? 0),
    counts_cache_reads: row.countsCacheReads,
    rates: row.rates,
    status: row.status,
    expires_at: row.expiresAt?.toISOString() ?? null,
    ip_allowlist: row.ipAllowlist,
    replaces_id: row.replacesId,
    is_temporary: row.playgroundSid !== null,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}

function limitsAfter(body: UpdateKey, was: Partial<KeyLimits>): Partial<KeyLimits> {
  const after = limitFields((name) => body[name] ?? was[name] ?? 0);
  return Object.fromEntries(
    LIMIT_NAMES.filter((name) => after[name] > 0).map((name) => [name, after[name]]),
  );
}
