import type { DataSource } from 'typeorm';
import { z } from 'zod';

const PAGE = 500;

/** The ledger owes these tokens to an account that has closed the subscription. */
const LEFT_OVER = `
  SELECT id, user_id, model_id FROM subscriptions
  WHERE status = 'closed' AND balance > greatest(overdraft, 0) AND id > $1 ORDER BY id LIMIT ${PAGE}`;
const refRow = z
  .object({ id: z.number(), user_id: z.number(), model_id: z.number() })
  .transform((row) => ({ id: row.id, accountId: row.user_id, modelId: row.model_id }));
const positionRow = z
  .object({
    id: z.number(),
    position: z.coerce.number(),
    credit_seq: z.coerce.number(),
    status: z.string(),
    generation: z.number(),
    revision: z.coerce.number(),
  })
  .transform(({ credit_seq: creditSeq, ...row }) => ({ ...row, creditSeq }));

type Ref = z.output<typeof refRow>;
type Source = Pick<DataSource, 'query'>;

/** Closed subscriptions in which tokens are left. */
export function leftOverPages(source: Source): AsyncGenerator<Ref[]> {
  return pages((afterId) => source.query(LEFT_OVER, [afterId]));
}

/** All subscriptions but those that close: their tokens are on their way out. */
export function openPages(source: Source): AsyncGenerator<Ref[]> {
  return pages((afterId) =>
    source.query(
      "SELECT id, user_id, model_id FROM subscriptions WHERE id > $1 AND status <> 'closing' ORDER BY id LIMIT $2",
      [afterId, PAGE],
    ),
  );
}

/** What the ledger holds of each, and how its row stands, without those that close. */
export async function positionsOf(
  source: Source,
  ids: readonly number[],
): Promise<ReadonlyMap<number, z.output<typeof positionRow>>> {
  const rows: unknown[] = await source.query(
    "SELECT id, balance - overdraft AS position, credit_seq, status, generation, revision FROM subscriptions WHERE id = ANY($1) AND status <> 'closing'",
    [ids],
  );
  return new Map(rows.map((row) => positionRow.parse(row)).map((row) => [row.id, row]));
}

async function* pages(read: (afterId: number) => Promise<unknown[]>): AsyncGenerator<Ref[]> {
  for (let afterId = 0; ;) {
    const page = (await read(afterId)).map((row) => refRow.parse(row));
    yield page;
    const last = page.at(-1);
    if (page.length < PAGE || !last) return;
    afterId = last.id;
  }
}
