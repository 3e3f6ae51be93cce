import { WINDOW_NAMES, type Rate } from '@tollgate/contracts';
import { z } from 'zod';
import { modelGlobs } from '../http/model-globs.ts';
import { rateWindowField } from './named-tables.ts';

/** Each admission evaluates the rates of the key and of the account. */
const RATES_MAX = 8;
const MODELS_CHARS_MAX = 512;
const NO_MODELS = 'name the models: the limit of this window for all models is a field of the key';
const TWICE = 'has the window and the models of another rate of the list';

const rateBody = z.strictObject({
  window: z.enum(WINDOW_NAMES),
  limit: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER).describe('Of what the window counts'),
  models: modelGlobs(MODELS_CHARS_MAX)
    .default('')
    .describe('Model names with * wildcards, separated by commas; empty = all'),
  counts_cache_reads: z
    .boolean()
    .default(true)
    .describe('Whether tokens that were read from a cache count'),
});

/** Validates a rate in the form that the interface shows. */
export const rateField = z
  .object({
    window: rateWindowField,
    limit: z.number(),
    models: z.string().describe('Empty = all'),
    counts_cache_reads: z.boolean(),
  })
  .meta({ id: 'Rate' });
export type RateBody = z.output<typeof rateBody>;

const rates = z
  .array(rateBody)
  .max(RATES_MAX)
  .refine((list) => new Set(list.map(nameOf)).size === list.length, TWICE);

/** A rate of an account counts the requests of all its keys. */
export const accountRates = rates.meta({ 'x-rules': [TWICE] });
/** Each rate of a key names the models that it counts. */
export const keyRates = rates
  .refine((list) => list.every(({ models }) => models !== '' && models !== '*'), NO_MODELS)
  .meta({ 'x-rules': [TWICE, NO_MODELS] });

/** Reads rates as a jsonb column stores them. */
export const storedRates = z.array(rateBody).transform((list) => list.map(toRate));

function nameOf({ window, models }: RateBody): string {
  return `${window} ${models}`;
}

function toRate({ counts_cache_reads: countsCacheReads, ...rate }: RateBody): Rate {
  return { ...rate, models: rate.models === '*' ? '' : rate.models, countsCacheReads };
}
