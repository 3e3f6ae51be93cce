import { isModelAllowed } from '@tollgate/keyspace';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';

const modelRow = z.object({ id: z.number(), name: z.string() });
const priceRow = z.object({ id: z.number(), price_per_million: z.string() });

/** Holds the models that a list of names and patterns matches, deleted ones included, and their price versions. */
export interface NamedModels {
  modelIds: readonly number[];
  priceIds: readonly number[];
  /** Holds the prices in micro-units, in the order of `priceIds`. */
  pricesPerMillion: readonly string[];
}

/** `list` is comma-separated, as budgets and keys have it; an empty list matches all models. */
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

const namedPriceRow = z.object({
  id: z.number(),
  name: z.string(),
  price_per_million: z.string().transform(toSafeInteger),
});

/** Returns of each price version the name of its model, and its price in micro-units. */
export async function readNamedPrices(
  tx: Pick<EntityManager, 'query'>,
  priceVersionIds: readonly number[],
): Promise<Map<number, { modelName: string; pricePerMillion: number }>> {
  const rows: unknown[] = await tx.query(
    'SELECT p.id, m.name, p.price_per_million FROM price_versions p JOIN models m ON m.id = p.model_id WHERE p.id = ANY($1::int[])',
    [[...new Set(priceVersionIds)]],
  );
  return new Map(
    rows
      .map((row) => namedPriceRow.parse(row))
      .map(({ id, name, price_per_million }) => [
        id,
        { modelName: name, pricePerMillion: price_per_million },
      ]),
  );
}
