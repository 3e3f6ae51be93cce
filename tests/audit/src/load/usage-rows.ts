import { TOKEN_FIELDS, tokenFields, WEIGHT_FIELDS, weightFields } from '@tollgate/contracts';
import { chargeOfFinal, dearestReached, dearestWeight } from '@tollgate/metering';
import pg from 'pg';
import { z } from 'zod';

const weight = z.coerce.number();
const priceSchema = z.object({
  ...weightFields(
    weight,
    weight.nullable().transform((value) => value ?? undefined),
  ),
  multipliers: z.record(z.string(), z.number()),
  tiers: z.array(
    z.object({
      above_prompt_tokens: z.number(),
      weights: z.object(weightFields(weight, weight.optional())),
    }),
  ),
});
const rowSchema = z.object({
  rid: z.string(),
  subscription_id: z.number(),
  /** Holds what left the balance, all events of the request together. */
  delta: z.coerce.number(),
  /** Holds the charge of the final, or null when only a reap is known. */
  charge: z.coerce.number().nullable(),
  outcome: z.string().nullable(),
  basis: z.string().nullable(),
  /** Holds tokens by class; of a reap none are known. */
  tokens: z.object(
    tokenFields(
      z
        .number()
        .nullable()
        .transform((count) => count ?? 0),
    ),
  ),
  premiums: z.array(z.string()),
  price: priceSchema,
});
export type UsageRow = z.infer<typeof rowSchema>;
export type TokensByClass = Parameters<typeof chargeOfFinal>[0];

/** Reads all usage in PostgreSQL, one row a request. */
export async function readUsage(databaseUrl: string): Promise<Map<string, UsageRow>> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    const { rows } = await database.query(`
      SELECT u.rid, u.subscription_id, sum(u.delta) AS delta, max(u.charge) AS charge, max(u.outcome) FILTER (WHERE u.kind = 'usage') AS outcome, max(u.basis) AS basis,
        json_build_object(${TOKEN_FIELDS.map((name) => `'${name}', max(u.${name})`).join(', ')}) AS tokens,
        coalesce(max(u.premiums::text), '[]')::json AS premiums,
        json_build_object(${WEIGHT_FIELDS.map((name) => `'${name}', p.${name}`).join(', ')}, 'multipliers', p.multipliers, 'tiers', p.tiers) AS price
      FROM usage_events u JOIN price_versions p ON p.id = u.price_version_id
      WHERE u.kind IN ('usage', 'reap') GROUP BY u.rid, u.subscription_id, p.id`);
    return new Map(
      z
        .array(rowSchema)
        .parse(rows)
        .map((row) => [row.rid, row]),
    );
  } finally {
    await database.end();
  }
}

/** Returns the charged tokens of so many tokens by the price version and premiums of a request, as the product computes them. */
export function chargeFor({ price, premiums }: UsageRow, tokens: TokensByClass): number {
  return chargeOfFinal({ ...tokens, premiums }, price);
}

/** Returns the most that so many tokens may be charged, whatever their classes are. */
export function dearestChargeFor(
  { price, premiums }: UsageRow,
  { prompt, output }: { prompt: number; output: number },
): number {
  const reached = dearestReached(price, prompt);
  const dearest = {
    ...reached,
    multipliers: price.multipliers,
    weight_input: dearestWeight(reached, 'prompt'),
    weight_output: dearestWeight(reached, 'output'),
  };
  return chargeOfFinal({ input_tokens: prompt, output_tokens: output, premiums }, dearest);
}
