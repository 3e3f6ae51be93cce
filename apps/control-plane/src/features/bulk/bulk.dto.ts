import { z } from 'zod';
import { INTEGER_MAX } from '../../platform/database/integer-max.ts';
import { countField } from '../../platform/http/answer-fields.ts';
import { nameText } from '../../platform/http/text-field.ts';
import { createModelSchema } from '../models/models.dto.ts';
import { createRouteSchema } from '../routing/routing.dto.ts';

/** Bounds the rows of a plan. A provider lists fewer models, and a page shows fewer rows. */
const ROWS_MAX = 500;
const id = z.number().int().min(1).max(INTEGER_MAX);
const DIGEST = /^[0-9a-f]{64}$/;
const digest = z.string().regex(DIGEST, 'must be the digest of a plan');

const BULK_ACTS = [
  'users.approve',
  'users.reject',
  'users.freeze',
  'users.unfreeze',
  'keys.enable',
  'keys.disable',
  'keys.delete',
  'models.sell',
  'models.withdraw',
] as const;
export type BulkAct = (typeof BULK_ACTS)[number];

export const bulkPlanSchema = z
  .strictObject({
    act: z.enum(BULK_ACTS),
    ids: z
      .array(id)
      .min(1)
      .max(ROWS_MAX)
      .refine((ids) => new Set(ids).size === ids.length, 'must not repeat an id')
      .meta({ uniqueItems: true }),
  })
  .meta({ 'x-example': { act: 'keys.disable', ids: [1, 2] } });
export type BulkPlanBody = z.output<typeof bulkPlanSchema>;

export const bulkApplySchema = bulkPlanSchema
  .extend({ digest })
  .meta({ 'x-example': { act: 'keys.disable', ids: [1, 2], digest: 'a'.repeat(64) } });
export type BulkApplyBody = z.output<typeof bulkApplySchema>;

const { price, is_on_shelf, name, kind, context_window, max_output_tokens } =
  createModelSchema.shape;
const { priority, weight } = createRouteSchema.shape;
const offeredModel = z.strictObject({
  /** Is the provider's name of the model. */
  upstream_model: nameText(256),
  /** Is the name that clients send; the provider's name when omitted. */
  name: name.optional(),
  kind,
  context_window,
  max_output_tokens,
  price,
  is_on_shelf,
});

export const addModelsSchema = z
  .strictObject({
    upstream_id: id,
    /** Is the tier of every new route. */
    priority,
    weight,
    models: z
      .array(offeredModel)
      .min(1)
      .max(ROWS_MAX)
      .refine(
        (models) => new Set(models.map((each) => each.upstream_model)).size === models.length,
        'must not repeat an upstream_model',
      ),
  })
  .meta({
    'x-example': {
      upstream_id: 1,
      models: [
        {
          upstream_model: 'gpt-5',
          price: { price_per_million: '2.5', weight_output: '4' },
          is_on_shelf: true,
        },
      ],
    },
  });
export type AddModelsBody = z.output<typeof addModelsSchema>;

export const applyModelsSchema = addModelsSchema.extend({ digest }).meta({
  'x-example': {
    upstream_id: 1,
    models: [{ upstream_model: 'gpt-5' }],
    digest: 'a'.repeat(64),
  },
});
export type ApplyModelsBody = z.output<typeof applyModelsSchema>;

/** Lists the reasons why a row of a plan is left out. */
const BULK_BLOCKS = [
  'not_found',
  'unchanged',
  'invalid_transition',
  'cannot_change_self',
  'model_not_priced',
  'invalid_name',
  'no_embeddings',
] as const;
export type BulkBlock = (typeof BULK_BLOCKS)[number];

const plainValue = z.union([z.string(), z.number(), z.boolean()]).nullable();
const bulkStepSchema = z
  .object({
    action: z.enum(['add', 'change', 'remove']),
    kind: z.enum(['user', 'key', 'model', 'route']),
    id: z.int().nullable().describe('null: it is added'),
    name: z.string(),
    differences: z.array(z.object({ field: z.string(), from: plainValue, to: plainValue })),
    keys: countField.nullable().describe('Enabled keys of an account that stop or work again'),
    subscriptions: countField.nullable().describe('Open subscriptions of a model'),
    blocked_by: z.enum(BULK_BLOCKS).nullable().describe('The reason why the row is left out'),
  })
  .meta({ id: 'BulkStep' });
export type BulkStep = z.output<typeof bulkStepSchema>;

export const bulkPlanAnswer = z
  .object({
    digest: z.string().describe('Names this plan: an act states it'),
    steps: z.array(bulkStepSchema),
  })
  .meta({ id: 'BulkPlan' });
export type BulkPlan = z.output<typeof bulkPlanAnswer>;

export const bulkOutcomeSchema = z
  .object({
    applied: countField,
    failed: z.array(
      z.object({
        kind: bulkStepSchema.shape.kind,
        id: z.int().nullable(),
        name: z.string(),
        code: z.string().describe('The code of the refusal'),
        message: z.string(),
      }),
    ),
  })
  .meta({ id: 'BulkOutcome' });
export type BulkOutcome = z.output<typeof bulkOutcomeSchema>;
