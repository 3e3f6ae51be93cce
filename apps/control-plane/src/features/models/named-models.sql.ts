import { isModelAllowed } from '@tollgate/keyspace';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';

const modelRow = z.object({ id: z.number(), name: z.string() });
const priceRow = z.object({ id: z.number(), price_per_million: z.string() });

/** Models that a list of names and patterns names, deleted ones too, and the price versions that they have had. */
export interface NamedModels {
  modelIds: readonly number[];
  priceIds: readonly number[];
  /** Micro-units, in the order of `priceIds`. */
  pricesPerMillion: readonly string[];
}

/** `list`: comma-separated, as budgets and keys have it; all models where it is empty. */
export async function modelsNamed(
  tx: Pick<EntityManager, 'query'>,
  list: string,
): Promise<NamedModels> {
  const models: unknown[] = await tx.query('SELECT id, name FROM models');
  const modelIds = models
    .map((row) => modelRow.parse(row))
    .filter(({ name }) => isModelAllowed(list, name))
    .map(({ id }) => id);
  const found: unknown[] = await tx.query(
    'SELECT id, price_per_million::text FROM price_versions WHERE model_id = ANY($1::int[])',
    [modelIds],
  );
  const prices = found.map((row) => priceRow.parse(row));
  return {
    modelIds,
    priceIds: prices.map(({ id }) => id),
    pricesPerMillion: prices.map((price) => price.price_per_million),
  };
}
