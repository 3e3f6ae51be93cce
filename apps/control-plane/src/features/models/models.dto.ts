import { ORDINARY_PREMIUMS, premiumSchema, weightFields } from '@tollgate/contracts';
import { MODEL_KINDS, failoverSchema, PRICE_TIERS_MAX } from '@tollgate/snapshot';
import { z } from 'zod';
import { INTEGER_MAX } from '../../platform/database/integer-max.ts';
import {
  amountText,
  currencyField,
  idField,
  timeField,
} from '../../platform/http/answer-fields.ts';
import { decimalField } from '../../platform/http/amount-field.ts';
import { booleanFilter, idFilter, listQuery, momentField } from '../../platform/http/list-query.ts';
import { modelFamilyTableSchema } from '../snapshots/model-families.ts';
import { nameText, optionalNoteText } from '../../platform/http/text-field.ts';

const id = z.number().int().positive().max(INTEGER_MAX);
/** `allowed_models` lists these names, so they contain no commas, stars or blanks. */
export const modelName = z
  .string()
  .max(256)
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$/,
    'must be letters, digits and . _ : / @ + -, beginning with a letter or digit',
  );
const tokens = z.number().int().min(1).max(100_000_000).nullable();

const ALIASES_MAX = 20;
const aliases = z
  .array(modelName)
  .max(ALIASES_MAX)
  .refine((names) => new Set(names).size === names.length, 'must not repeat a name')
  .meta({ uniqueItems: true });

/** Is longer than any provider's own limit. */
const TIMEOUT_MS_MAX = 3_600_000;
const timeoutMs = z.int().min(1).max(TIMEOUT_MS_MAX);
const failoverFields = failoverSchema.extend({
  first_byte_timeout_ms: timeoutMs.optional(),
  first_token_timeout_ms: timeoutMs.optional(),
  idle_timeout_ms: timeoutMs.optional(),
});

const modelFields = {
  /** Replaces all aliases. */
  aliases: aliases.optional(),
  display_name: nameText(256).optional(),
  kind: z.enum(MODEL_KINDS).optional(),
  owned_by: nameText(128).optional(),
  description: optionalNoteText(4_000).optional(),
  context_window: tokens.optional(),
  max_output_tokens: tokens.optional(),
  /** Limits the output of a request that states no limit; null means the node's default, 4096. */
  default_output_tokens: tokens.optional(),
  /** Counts the tokens to hold for each input that the request's bytes do not bound; null for the whole context window. */
  unbounded_input_tokens: z.number().int().min(0).max(100_000_000).nullable().optional(),
  /** Is true when the reported usage may include more input than was sent. */
  reads_more_than_sent: z.boolean().optional(),
  /** Is true when requests that mark nothing for the provider's cache get marks. */
  caches_prompts: z.boolean().optional(),
  /** Replaces all settings; an omitted setting gets its default. */
  failover: failoverFields.optional(),
};

export const updateModelSchema = z
  .strictObject({ name: modelName.optional(), ...modelFields })
  .meta({ 'x-example': { description: 'For long documents', context_window: 400_000 } });
export type UpdateModel = z.infer<typeof updateModelSchema>;

export const modelListSchema = listQuery({
  sorts: ['id', 'name', 'created_at'],
  sort: 'id',
  filters: { kind: z.enum(MODEL_KINDS).optional(), is_on_shelf: booleanFilter.optional() },
});
export type ModelList = z.infer<typeof modelListSchema>;

export const marketSchema = listQuery({
  sorts: ['id', 'name', 'created_at'],
  sort: 'name',
  filters: { kind: z.enum(MODEL_KINDS).optional() },
});
export type MarketList = z.infer<typeof marketSchema>;

/** Is far above any tariff, and low enough that a charge stays an exact integer. */
const WEIGHT_MAX = 1_000_000_000_000n;
const weight = decimalField.refine((value) => value <= WEIGHT_MAX, 'must be at most 1000000');

/** A multiplier above a thousand is a typing error. */
const MULTIPLIER_MAX = 1_000_000_000n;
const MULTIPLIERS_MAX = 100;
/** Maps a premium, for example `service_tier=priority`, to the factor by which its requests are charged. */
const multipliers = z
  .record(
    premiumSchema,
    decimalField.refine(
      (value) => value > 0n && value <= MULTIPLIER_MAX,
      'must be above 0 and at most 1000',
    ),
  )
  .refine(
    (given) => Object.keys(given).length <= MULTIPLIERS_MAX,
    `must be at most ${MULTIPLIERS_MAX}`,
  )
  .refine(
    (given) => Object.keys(given).every((premium) => !ORDINARY_PREMIUMS.has(premium)),
    `must not name what is served at the ordinary charge: ${[...ORDINARY_PREMIUMS].join(', ')}`,
  );

const THRESHOLD_MAX = 100_000_000;
const tier = z.strictObject({
  /** Is the threshold: a request with more charged prompt tokens than this is charged by these weights as a whole. */
  above_prompt_tokens: z.int().min(1).max(THRESHOLD_MAX),
  weights: z
    .strictObject(weightFields(weight, weight.nullable().optional()))
    .refine(
      ({ weight_input: input, weight_output: output }) => input > 0n || output > 0n,
      'must not be 0 for input and output',
    ),
});
const tiers = z
  .array(tier)
  .max(PRICE_TIERS_MAX)
  .refine(
    (given) =>
      given.every(
        ({ above_prompt_tokens: above }, index) =>
          above > (given[index - 1]?.above_prompt_tokens ?? 0),
      ),
    'must ascend by above_prompt_tokens',
  );

const priceFields = {
  /** Is the price in currency units per million charged tokens. */
  price_per_million: decimalField,
  ...weightFields(weight.optional(), weight.nullable().optional()),
  multipliers: multipliers.optional(),
  /** Holds the weights of requests with long prompts, in place of the weights above. */
  tiers: tiers.optional(),
  /** Must be true for a price that charges nothing, and only there, so that a missing digit gives nothing away. */
  free: z.boolean().optional(),
};
type PriceFields = z.infer<z.ZodObject<typeof priceFields>>;

/** Returns whether the price charges nothing: its tokens cost nothing, or no weight counts any. */
function chargesNothing(price: PriceFields): boolean {
  return (
    price.price_per_million === 0n || (price.weight_input === 0n && price.weight_output === 0n)
  );
}
const FREE_IS_SAID = {
  path: ['free'],
  message:
    'must be true for a price of 0 or weights of 0 for input and output, and absent or false otherwise',
};
const FREE_HAS_NO_TIERS = {
  path: ['tiers'],
  message: 'must be absent for a price that charges nothing',
};
const isTieredIfCharged = (price: PriceFields): boolean =>
  !chargesNothing(price) || (price.tiers ?? []).length === 0;
const isFreeAsSaid = (price: PriceFields): boolean =>
  chargesNothing(price) === (price.free ?? false);

export const NOT_PAST = 'must not lie in the past: what was served was priced';

export const setPriceSchema = z
  .strictObject({
    model_id: id,
    ...priceFields,
    effective_at: momentField.optional().meta({ 'x-rules': [NOT_PAST] }),
    replaces: id
      .nullable()
      .optional()
      .describe(
        'The version that was in force when this one was written, null for none: refused by `precondition_failed` when another is in force',
      ),
  })
  .refine(isFreeAsSaid, FREE_IS_SAID)
  .refine(isTieredIfCharged, FREE_HAS_NO_TIERS)
  .meta({ 'x-example': { model_id: 1, price_per_million: '2.5', weight_output: '4' } });
export type SetPrice = z.infer<typeof setPriceSchema>;

const firstPriceSchema = z
  .strictObject(priceFields)
  .refine(isFreeAsSaid, FREE_IS_SAID)
  .refine(isTieredIfCharged, FREE_HAS_NO_TIERS);
export type FirstPrice = z.infer<typeof firstPriceSchema>;

export const createModelSchema = z
  .strictObject({
    name: modelName,
    ...modelFields,
    /** The price takes effect at once. */
    price: firstPriceSchema.optional(),
    /** True offers the model for sale; otherwise it starts off the shelf. */
    is_on_shelf: z.boolean().optional(),
  })
  .meta({
    'x-example': {
      name: 'gpt-5',
      price: { price_per_million: '2.5', weight_output: '4' },
      is_on_shelf: true,
    },
  });
export type CreateModel = z.infer<typeof createModelSchema>;

export const priceListSchema = listQuery({
  sorts: ['id', 'model_id', 'effective_at'],
  sort: '-id',
  filters: { model_id: idFilter.optional(), in_force: booleanFilter.optional() },
});
export type PriceList = z.infer<typeof priceListSchema>;

const described = {
  id: idField,
  name: z.string().describe('What clients send as `model`'),
  aliases: z.array(z.string()).describe('Further names clients may send as `model`'),
  display_name: z.string(),
  kind: z.enum(MODEL_KINDS),
  owned_by: z.string(),
  description: z.string(),
  context_window: z.int().nullable().describe('Tokens; null = not known'),
  max_output_tokens: z.int().nullable(),
};
export const modelResponseSchema = z
  .object({
    ...described,
    default_output_tokens: z
      .int()
      .nullable()
      .describe('Output tokens of a request without a limit; null = 4096'),
    unbounded_input_tokens: z
      .int()
      .nullable()
      .describe(
        'Tokens held for each document, file or other input that no byte of the request bounds, and for each use of a tool of the provider; null = the whole context window is held',
      ),
    is_on_shelf: z.boolean(),
    reads_more_than_sent: z
      .boolean()
      .describe(
        'The model searches or reads on its own: each request holds ten context windows, and its usage is charged up to them. Needs context_window',
      ),
    caches_prompts: z
      .boolean()
      .describe(
        'Requests that mark nothing for a cache of the provider get cache_control, or prompt_cache_key; writes to a cache may cost more',
      ),
    failover: failoverSchema.describe('What differs from the default when an upstream fails'),
    created_at: timeField,
    updated_at: timeField,
  })
  .meta({ id: 'Model' });
export type ModelResponse = z.output<typeof modelResponseSchema>;

const tag = {
  price_per_million: amountText.describe('Currency units per million charged tokens'),
  currency: currencyField,
  ...weightFields(
    amountText,
    amountText
      .nullable()
      .describe('Charged tokens for each. null: as its parent class, or 0 without one'),
  ),
  multipliers: z
    .record(z.string(), amountText)
    .describe('By dearer service, such as service_tier=priority: times the ordinary charge'),
  tiers: z
    .array(
      z.object({
        above_prompt_tokens: z.int(),
        weights: z.object(weightFields(amountText, amountText.optional())),
      }),
    )
    .describe('The weights of a whole request with more charged prompt tokens; ascending'),
  free: z.boolean().describe('Declared to charge nothing'),
};
const priceTagSchema = z.object(tag).meta({ id: 'PriceTag' });
export type PriceTag = z.output<typeof priceTagSchema>;
export const priceResponseSchema = z
  .object({
    id: idField,
    model_id: idField,
    ...tag,
    effective_at: timeField,
    created_at: timeField,
  })
  .meta({ id: 'Price' });
export type PriceResponse = z.output<typeof priceResponseSchema>;

export const marketResponseSchema = z
  .object({ ...described, price: priceTagSchema.nullable().describe('In force now') })
  .meta({ id: 'MarketModel' });
export type MarketResponse = z.output<typeof marketResponseSchema>;

export const modelFamiliesResponseSchema = modelFamilyTableSchema
  .extend({ imported_at: timeField.nullable().describe('null = the table of this release') })
  .meta({ id: 'ModelFamilies' });
export type ModelFamiliesResponse = z.output<typeof modelFamiliesResponseSchema>;
