import { AUTH_TYPES, upstreamAuthSchema, upstreamKeySchema } from '@tollgate/contracts';
import { CREDENTIAL_WEIGHT_MAX } from '@tollgate/snapshot';
import { z } from 'zod';
import { countField, timeField } from '../../platform/http/answer-fields.ts';
import { nameText } from '../../platform/http/text-field.ts';
import {
  AUTH_NOT_TAKEN,
  ONE_CREDENTIAL,
  TOO_MANY_CREDENTIALS,
  upstreamResponseSchema,
} from './upstreams.dto.ts';

export const NOT_OF_OWN = 'must not be given for credential 0, which has no name';
export const KEY_IS_NEEDED = 'is required, here or as auth';

const declared = z.number().int().min(1).max(1_000_000_000).nullable().optional();

const settings = z.strictObject({
  name: nameText(128).meta({ 'x-rules': [NOT_OF_OWN, TOO_MANY_CREDENTIALS] }),
  /** No answer returns this field. */
  api_key: upstreamKeySchema.optional().meta({ 'x-rules': [KEY_IS_NEEDED] }),
  /** Write-only: what the provider asks for, by its kind. `api_key` is short for `{"type": "api_key"}`. */
  auth: upstreamAuthSchema.optional().meta({ 'x-rules': [ONE_CREDENTIAL, AUTH_NOT_TAKEN] }),
  /** Is the credential's share of the requests, relative to the other credentials. */
  weight: z.number().int().min(1).max(CREDENTIAL_WEIGHT_MAX).optional(),
  /** Requests, or tokens, that its account may send in a minute of each model; null: as the provider states. */
  rpm: declared,
  tpm: declared,
  enabled: z.boolean().optional(),
});

export const createCredentialSchema = settings.meta({
  'x-example': { name: 'second', api_key: 'sk-example', weight: 2 },
});
export type CreateCredential = z.infer<typeof createCredentialSchema>;

/** Without `api_key` and `auth` the credential keeps its secret. */
export const updateCredentialSchema = settings.partial().meta({ 'x-example': { enabled: false } });
export type UpdateCredential = z.infer<typeof updateCredentialSchema>;

const state = z
  .object({
    node: z.string().describe('The worker that leaves it alone'),
    why: z.string().describe('The kind of its last failure'),
    open_for_ms: countField.describe('For all accounts; 0: some accounts only have to wait'),
    accounts_resting: countField,
  })
  .meta({ id: 'RestingCredential' });

export const credentialResponseSchema = z
  .object({
    id: z.int().min(0).describe("0: the upstream's own"),
    upstream_id: z.int().min(1),
    name: z.string().nullable(),
    auth_type: z.enum(AUTH_TYPES),
    weight: z.int(),
    rpm: z.int().nullable(),
    tpm: z.int().nullable(),
    enabled: z.boolean(),
    updated_at: timeField,
  })
  .meta({ id: 'UpstreamCredential' });
export type CredentialResponse = z.output<typeof credentialResponseSchema>;

export const upstreamDetailSchema = upstreamResponseSchema
  .extend({
    credentials: z
      .array(
        credentialResponseSchema
          .extend({ resting: z.array(state).describe('Empty: all nodes use it') })
          .meta({ id: 'UpstreamCredentialState' }),
      )
      .describe('Requests are shared among those that are enabled, by weight'),
  })
  .meta({ id: 'UpstreamDetail' });
export type UpstreamDetail = z.output<typeof upstreamDetailSchema>;
