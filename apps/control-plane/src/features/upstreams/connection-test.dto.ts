import { z } from 'zod';
import { INTEGER_MAX } from '../../platform/database/integer-max.ts';
import { countField, idField } from '../../platform/http/answer-fields.ts';
import { nameText } from '../../platform/http/text-field.ts';

export const MODEL_IS_NEEDED =
  'is required while no route leads to this upstream, whose provider lists no models';
export const NO_EMBEDDINGS = 'the protocol of this upstream has no embeddings';
export const NO_SUCH_CREDENTIAL = 'is of no credential of this upstream';
export const KEY_UNREADABLE = 'the stored key cannot be opened; set it again';

export const connectionTestBody = z
  .strictObject({
    model: nameText(256)
      .optional()
      .meta({
        description:
          "The upstream's own name of a model; that of its first route when absent; without a route only the provider's models are listed",
        'x-rules': [MODEL_IS_NEEDED, NO_EMBEDDINGS, KEY_UNREADABLE],
      }),
    kind: z.enum(['chat', 'embedding']).optional(),
    /** Names the credential to ask with. Without it, the upstream's own (0) is used, or else the first further one. */
    credential_id: z
      .number()
      .int()
      .min(0)
      .max(INTEGER_MAX)
      .optional()
      .meta({ 'x-rules': [NO_SUCH_CREDENTIAL] }),
  })
  .default({})
  .meta({ 'x-example': { model: 'gpt-5-mini' } });
export type ConnectionTestBody = z.output<typeof connectionTestBody>;

export const connectionTestSchema = z
  .object({
    upstream_id: idField,
    ok: z.boolean(),
    model: z.string().nullable().describe('The model that was asked; null: none'),
    status: z.int().nullable().describe('What the upstream answered; null: nothing'),
    duration_ms: countField,
    input_tokens: countField.nullable().describe('As the upstream reported; it may bill them'),
    output_tokens: countField.nullable(),
    models: z
      .array(z.string())
      .nullable()
      .describe('The names that the provider lists, at most 2,000; null: it lists none'),
    error: z
      .object({
        kind: z.enum(['timeout', 'address_refused', 'unreachable', 'refused', 'unreadable']),
        message: z.string(),
      })
      .nullable(),
  })
  .meta({ id: 'ConnectionTest' });
/** Describes the models of a provider's list, or the error in its place. */
export const offeredModelsSchema = connectionTestSchema
  .pick({ upstream_id: true, models: true, error: true })
  .meta({ id: 'OfferedModels' });
export type OfferedModels = z.output<typeof offeredModelsSchema>;
export type ConnectionTest = z.output<typeof connectionTestSchema>;
