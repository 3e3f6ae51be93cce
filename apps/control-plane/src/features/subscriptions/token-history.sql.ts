import { formatAmount } from '@tollgate/money';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';
import {
  tokenEntrySchema,
  tokenLotSchema,
  type TokenEntriesQuery,
  type TokenEntry,
} from './subscription-history.dto.ts';

const whole = z.string().transform(toSafeInteger);
const micros = z.string().transform((text) => formatAmount(BigInt(text)));
const moment = z.date().transform((at) => at.toISOString());

const lotRow = z.object({
  ...tokenLotSchema.omit({ currency: true }).shape,
  id: whole,
  number: whole,
  tokens: whole,
  remaining: whole,
  used: whole,
  withdrawn: whole,
  cost: micros,
  refunded: micros,
  created_at: moment,
});

const entryRow = z.object({
  ...tokenEntrySchema.shape,
  id: whole,
  tokens: whole,
  balance_after: whole,
  created_at: moment,
});

/** Selects rows below `before`; null starts with the newest rows. */
interface Stretch {
  before: number | null;
  limit: number;
}

export async function lotsOf(
  tx: EntityManager,
  subscriptionId: number,
  { before, limit }: Stretch,
): Promise<z.output<typeof lotRow>[]> {
  const rows: unknown[] = await tx.query(
    `SELECT l.id, l.credit_seq AS number, c.kind, l.tokens, l.remaining, l.tokens - l.remaining - l.withdrawn AS used, l.withdrawn, l.cost, l.refunded, l.created_at
     FROM token_lots l JOIN token_credits c ON c.subscription_id = l.subscription_id AND c.seq = l.credit_seq
     WHERE l.subscription_id = $1 AND ($2::bigint IS NULL OR l.credit_seq < $2) ORDER BY l.credit_seq DESC LIMIT $3`,
    [subscriptionId, before, limit],
  );
  return rows.map((row) => lotRow.parse(row));
}

export async function entriesOf(
  tx: EntityManager,
  subscriptionId: number,
  { before, limit, kind, from, to }: Stretch & Pick<TokenEntriesQuery, 'kind' | 'from' | 'to'>,
): Promise<TokenEntry[]> {
  const rows: unknown[] = await tx.query(
    `SELECT id, kind, delta AS tokens, balance_after, reference, created_at FROM token_entries
     WHERE subscription_id = $1 AND ($2::bigint IS NULL OR id < $2) AND ($3::text IS NULL OR kind = $3)
       AND ($4::timestamptz IS NULL OR created_at >= $4) AND ($5::timestamptz IS NULL OR created_at < $5)
     ORDER BY id DESC LIMIT $6`,
    [subscriptionId, before, kind ?? null, from ?? null, to ?? null, limit],
  );
  return rows.map((row) => entryRow.parse(row));
}
