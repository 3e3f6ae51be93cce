import { WEIGHT_FIELDS, weightFields } from '@tollgate/contracts';
import type { ChargeWeights, Multipliers } from '@tollgate/metering';
import { priceTierSchema } from '@tollgate/snapshot';
import type { DataSource } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';

/** Holds the weights by which a price version charges counts. They never change. */
export interface PriceWeights extends ChargeWeights {
  modelId: number;
  multipliers: Multipliers;
}

const weight = z.string().transform(toSafeInteger);
const optionalWeight = weight.nullable().transform((value) => value ?? undefined);
const weightsRow = z.object({
  id: z.number(),
  model_id: z.number(),
  ...weightFields(weight, optionalWeight),
  multipliers: z.record(z.string(), z.number()),
  tiers: z.array(priceTierSchema).transform((tiers) => (tiers.length === 0 ? undefined : tiers)),
});

export async function readPriceWeights(
  dataSource: Pick<DataSource, 'query'>,
  priceVersionIds: readonly number[],
): Promise<[number, PriceWeights][]> {
  const rows: unknown[] = await dataSource.query(
    `SELECT id, model_id, ${WEIGHT_FIELDS.join(', ')}, multipliers, tiers FROM price_versions WHERE id = ANY($1::int[])`,
    [priceVersionIds],
  );
  return rows
    .map((raw) => weightsRow.parse(raw))
    .map(({ id, model_id, ...weights }) => [id, { modelId: model_id, ...weights }]);
}
