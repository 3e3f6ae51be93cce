import pg from 'pg';
import { z } from 'zod';

const rowSchema = z.object({
  rid: z.string(),
  subscription_id: z.number(),
  /** What left the balance, all events of the request together. */
  delta: z.coerce.number(),
  /** Of the final; null when only a reap is known. */
  charge: z.coerce.number().nullable(),
  outcome: z.string().nullable(),
  basis: z.string().nullable(),
  input: z.coerce.number().nullable(),
  output: z.coerce.number().nullable(),
  weight_input: z.coerce.number(),
  weight_output: z.coerce.number(),
});
export type UsageRow = z.infer<typeof rowSchema>;

/** All usage in PostgreSQL, one row a request. */
export async function readUsage(databaseUrl: string): Promise<Map<string, UsageRow>> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    const { rows } = await database.query(`
      SELECT u.rid, u.subscription_id, sum(u.delta) AS delta, max(u.charge) AS charge, max(u.outcome) FILTER (WHERE u.kind = 'usage') AS outcome, max(u.basis) AS basis,
        max(u.input_tokens) AS input, max(u.output_tokens) AS output, p.weight_input, p.weight_output
      FROM usage_events u JOIN price_versions p ON p.id = u.price_version_id
      WHERE u.kind IN ('usage', 'reap') GROUP BY u.rid, u.subscription_id, p.weight_input, p.weight_output`);
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

/** Charged tokens of a request by its price version's weights (millionths), rounded up. */
export function chargeFor(
  { weight_input, weight_output }: UsageRow,
  { input, output }: { input: number; output: number },
): number {
  const micro = BigInt(input) * BigInt(weight_input) + BigInt(output) * BigInt(weight_output);
  return Number((micro + 999_999n) / 1_000_000n);
}
