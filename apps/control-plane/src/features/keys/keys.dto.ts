import { limitFields } from '@tollgate/contracts';
import { InvalidAllowlistEntry, normaliseAllowlist } from '@tollgate/keyspace';
import { z } from 'zod';
import { INTEGER_MAX } from '../../platform/database/integer-max.ts';
import { idField, timeField } from '../../platform/http/answer-fields.ts';
import {
  booleanFilter,
  idFilter,
  IN_FUTURE,
  listQuery,
  momentField,
  idsQuery,
} from '../../platform/http/list-query.ts';
import { keyLimitField } from '../../platform/openapi/named-tables.ts';
import { modelGlobs } from '../../platform/http/model-globs.ts';
import { keyRates, rateField } from '../../platform/openapi/rate-field.ts';
import { nameText } from '../../platform/http/text-field.ts';
import { ABOVE_CEILING, limitsInForceSchema } from '../ceilings/ceilings.dto.ts';

const ALLOWED_MODELS_CHARS_MAX = 8_192;
const ALLOWLIST_CHARS_MAX = 8_192;

const limit = z
  .number()
  .int()
  .min(0)
  .max(Number.MAX_SAFE_INTEGER)
  .meta({ 'x-rules': [ABOVE_CEILING] });
const name = nameText(128);

/** An empty text or `*` allows all models that the account subscribes to. */
const allowedModels = modelGlobs(ALLOWED_MODELS_CHARS_MAX);

/** The list is stored as written; admission gets the normalised form. */
const ipAllowlist = z
  .string()
  .trim()
  .max(ALLOWLIST_CHARS_MAX)
  .refine(isAllowlist, 'must be addresses or CIDR ranges separated by commas');

const expiresAt = momentField.nullable().meta({ 'x-rules': [IN_FUTURE] });

const COUNTS_CACHE_READS = 'Whether the limits of tokens count what was read from a cache';
const RATES = 'Limits for some models each, beside those above';

const limits = {
  ...limitFields((_, { says }) => limit.optional().describe(`${says}; 0 = no limit`)),
  counts_cache_reads: z.boolean().optional().describe(COUNTS_CACHE_READS),
  rates: keyRates.optional().describe(RATES),
};

export const createKeySchema = z
  .strictObject({
    name,
    allowed_models: allowedModels.optional(),
    ...limits,
    expires_at: expiresAt.optional(),
    ip_allowlist: ipAllowlist.optional(),
    /** Administrators name the account of the key. */
    user_id: z.number().int().positive().max(INTEGER_MAX).optional(),
  })
  .meta({ 'x-example': { name: 'backend', allowed_models: 'gpt-5,claude-*', rpm: 600 } });
export type CreateKey = z.infer<typeof createKeySchema>;

export const updateKeySchema = z
  .strictObject({
    name: name.optional(),
    allowed_models: allowedModels.optional(),
    ...limits,
    expires_at: expiresAt.optional(),
    ip_allowlist: ipAllowlist.optional(),
  })
  .meta({ 'x-example': { rpm: 1200 } });
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

export const keyResponseSchema = z
  .object({
    id: idField,
    user_id: idField,
    name: z.string(),
    key_prefix: z.string().describe('How the key begins, to tell keys apart'),
    allowed_models: z
      .string()
      .describe(
        'Model names with * wildcards, separated by commas; empty or * = everything the account subscribes to',
      ),
    ...limitFields((_, { says }) => z.int().describe(`${says}; 0 = no limit`)),
    counts_cache_reads: z.boolean().describe(COUNTS_CACHE_READS),
    rates: z.array(rateField).describe(RATES),
    status: z.enum(['enabled', 'disabled', 'deleted']),
    expires_at: timeField.nullable(),
    ip_allowlist: z.string().describe('Addresses or CIDR ranges separated by commas; empty = any'),
    replaces_id: idField.nullable().describe('The key that this one was made to replace'),
    is_temporary: z
      .boolean()
      .describe('Of the playground: it ends with its session, and cannot be changed or rotated'),
    created_at: timeField,
    updated_at: timeField,
  })
  .meta({ id: 'Key' });
export type KeyResponse = z.output<typeof keyResponseSchema>;

export const listedKeySchema = keyResponseSchema
  .extend({
    last_used_at: timeField
      .nullable()
      .describe('When its latest booked request began; null = not used yet'),
    limits_in_force: limitsInForceSchema,
  })
  .meta({ id: 'ListedKey' });
export type ListedKey = z.output<typeof listedKeySchema>;

export const createdKeyResponseSchema = keyResponseSchema
  .extend({
    key: z
      .string()
      .nullable()
      .describe('The key itself, shown this once; null when the call is a repeat'),
  })
  .meta({ id: 'CreatedKey' });
export type CreatedKeyResponse = z.output<typeof createdKeyResponseSchema>;

/** The overlap is at most 30 days. */
const OVERLAP_MINUTES_MAX = 43_200;
export const rotateKeySchema = z
  .strictObject({
    overlap_minutes: z
      .number()
      .int()
      .min(0)
      .max(OVERLAP_MINUTES_MAX)
      .default(1_440)
      .describe('How long the old key stays good'),
  })
  .default({ overlap_minutes: 1_440 })
  .meta({ 'x-example': { overlap_minutes: 60 } });
export type RotateKey = z.output<typeof rotateKeySchema>;

export const keyWindowsSchema = z
  .object({
    key_id: idField,
    as_of: timeField,
    windows: z.array(
      z.object({
        window: keyLimitField,
        models: z.string().describe('Globs of the models that it counts; empty = all'),
        of: z
          .enum(['key', 'account'])
          .describe('Whose limit it is: an account counts over all its keys'),
        limit: z.int().describe('0 = no limit; nothing is counted then'),
        used: z.int().describe('Requests or tokens that count now, or requests that run'),
        remaining: z.int().nullable().describe('null = no limit'),
        resets_at: timeField.nullable().describe('When the whole limit is back'),
      }),
    ),
  })
  .meta({ id: 'KeyWindows' });
export type KeyWindowsResponse = z.output<typeof keyWindowsSchema>;

export const windowsOfSchema = idsQuery('keys');

export const windowsListSchema = z
  .object({ data: z.array(keyWindowsSchema) })
  .meta({ id: 'KeyWindowsList' });

export const createTemporaryKeySchema = z
  .strictObject({
    key_id: z
      .number()
      .int()
      .positive()
      .max(INTEGER_MAX)
      .optional()
      .describe('One of your keys: the same models and, below 20 a minute, its limits'),
  })
  .default({})
  .meta({ 'x-example': {} });
export type CreateTemporaryKey = z.output<typeof createTemporaryKeySchema>;

export const temporaryKeySchema = z
  .object({
    id: idField,
    key: z
      .string()
      .nullable()
      .describe('The key itself, shown this once; null when the call is a repeat'),
    allowed_models: z.string(),
    rpm: z.int(),
    expires_at: timeField,
  })
  .meta({ id: 'TemporaryKey' });
export type TemporaryKey = z.output<typeof temporaryKeySchema>;

function isAllowlist(text: string): boolean {
  try {
    normaliseAllowlist(text);
    return true;
  } catch (error) {
    if (error instanceof InvalidAllowlistEntry) return false;
    throw error;
  }
}
