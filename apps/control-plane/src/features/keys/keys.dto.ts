import { InvalidAllowlistEntry, normaliseAllowlist } from '@tollgate/keyspace';
import { z } from 'zod';
import { booleanFilter, idFilter, listQuery } from '../../platform/http/list-query.ts';

const INT4_MAX = 2_147_483_647;
const ALLOWED_MODELS_CHARS_MAX = 8_192;
const ALLOWLIST_CHARS_MAX = 8_192;

/** Requests; 0 = no limit. */
const limit = z.number().int().min(0).max(INT4_MAX);
const name = z.string().trim().min(1).max(128);

/** Model names with `*` wildcards, separated by commas; empty or `*` = everything the account subscribes to. */
const allowedModels = z
  .string()
  .max(ALLOWED_MODELS_CHARS_MAX)
  .transform((text) => text.split(',').map((part) => part.trim()).filter((part) => part !== ''))
  .refine((parts) => parts.every((part) => /^[A-Za-z0-9._:/@+*-]{1,256}$/.test(part)), 'must be model names separated by commas; * is the only wildcard')
  .transform((parts) => [...new Set(parts)].join(','));

/** Kept as written; admission gets the normalised form. */
const ipAllowlist = z.string().trim().max(ALLOWLIST_CHARS_MAX).refine(isAllowlist, 'must be addresses or CIDR ranges separated by commas');

const expiresAt = z.iso.datetime({ offset: true }).nullable();

const limits = { rpm: limit.optional(), rph: limit.optional(), rpd: limit.optional() };

export const createKeySchema = z.strictObject({
  name,
  allowed_models: allowedModels.optional(),
  ...limits,
  expires_at: expiresAt.optional(),
  ip_allowlist: ipAllowlist.optional(),
  /** Administrators: the account the key is for. */
  user_id: z.number().int().positive().max(INT4_MAX).optional(),
});
export type CreateKey = z.infer<typeof createKeySchema>;

export const updateKeySchema = z.strictObject({
  name: name.optional(),
  allowed_models: allowedModels.optional(),
  ...limits,
  expires_at: expiresAt.optional(),
  ip_allowlist: ipAllowlist.optional(),
});
export type UpdateKey = z.infer<typeof updateKeySchema>;

export const keyListSchema = listQuery({
  sorts: ['id', 'name', 'created_at'],
  sort: 'id',
  filters: { user_id: idFilter.optional(), status: z.enum(['enabled', 'disabled']).optional() },
});
export type KeyList = z.infer<typeof keyListSchema>;

/** `?drain=true` lets running streams finish. */
export const drainKeySchema = z.strictObject({ drain: booleanFilter.optional() });
export type DrainKey = z.infer<typeof drainKeySchema>;

function isAllowlist(text: string): boolean {
  try {
    normaliseAllowlist(text);
    return true;
  } catch (error) {
    if (error instanceof InvalidAllowlistEntry) return false;
    throw error;
  }
}
