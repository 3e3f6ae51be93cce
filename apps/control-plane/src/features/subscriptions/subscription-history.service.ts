import { Inject, Injectable, type StreamableFile } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { formatAmount } from '@tollgate/money';
import type { Repository } from 'typeorm';
import { z } from 'zod';
import { CONFIG, type Config } from '../../config.ts';
import { AccountScope } from '../../platform/access/account-scope.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { toSafeInteger } from '../../platform/database/columns.ts';
import { csvFile, type CsvCell } from '../../platform/http/csv.ts';
import { decodeCursor, toCursorPage, type CursorPage } from '../../platform/http/cursor.ts';
import { noSuch } from '../../platform/http/refusal.ts';
import { SubscriptionRow } from './subscription.entity.ts';
import {
  tokenEntrySchema,
  tokenLotSchema,
  type TokenEntriesQuery,
  type TokenEntry,
  type TokenLot,
  type TokenLotsQuery,
} from './subscription-history.dto.ts';

const EXPORT_BATCH = 1_000;
const CSV_COLUMNS = ['id', 'created_at', 'kind', 'tokens', 'balance_after', 'reference'] as const;

/** Lists are read from the last row seen downwards. */
const cursorKey = z.int().positive();
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

@Injectable()
export class SubscriptionHistoryService {
  constructor(
    @InjectRepository(SubscriptionRow) private readonly subscriptions: Repository<SubscriptionRow>,
    private readonly scope: AccountScope,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Newest first. Throws not_found for a subscription of another account. */
  async readLots(
    caller: Caller,
    id: number,
    { cursor, page_size: pageSize }: TokenLotsQuery,
  ): Promise<CursorPage<TokenLot>> {
    await this.keepReachable(caller, id);
    const rows: unknown[] = await this.subscriptions.query(
      `SELECT l.id, l.credit_seq AS number, c.kind, l.tokens, l.remaining, l.tokens - l.remaining - l.withdrawn AS used, l.withdrawn, l.cost, l.refunded, l.created_at
       FROM token_lots l JOIN token_credits c ON c.subscription_id = l.subscription_id AND c.seq = l.credit_seq
       WHERE l.subscription_id = $1 AND ($2::bigint IS NULL OR l.credit_seq < $2) ORDER BY l.credit_seq DESC LIMIT $3`,
      [id, beforeOf(cursor), pageSize + 1],
    );
    return toCursorPage(
      rows.map((row) => lotRow.parse(row)),
      {
        pageSize,
        keyOf: (lot) => lot.number,
        map: (lot) => ({ ...lot, currency: this.config.CURRENCY }),
      },
    );
  }

  /** Throws not_found for a subscription of another account. */
  async readEntries(
    caller: Caller,
    id: number,
    query: TokenEntriesQuery,
  ): Promise<CursorPage<TokenEntry> | StreamableFile> {
    await this.keepReachable(caller, id);
    if (query.format === 'csv')
      return csvFile(`tokens-${id}`, [...CSV_COLUMNS], this.export(id, query));
    const rows = await this.entries(id, query, {
      before: beforeOf(query.cursor),
      limit: query.page_size + 1,
    });
    return toCursorPage(rows, {
      pageSize: query.page_size,
      keyOf: (entry) => entry.id,
      map: (entry) => entry,
    });
  }

  private async *export(id: number, query: TokenEntriesQuery): AsyncGenerator<CsvCell[]> {
    for (let before: number | null = null; ;) {
      const rows: TokenEntry[] = await this.entries(id, query, { before, limit: EXPORT_BATCH });
      for (const row of rows) yield CSV_COLUMNS.map((column) => row[column]);
      before = rows.at(-1)?.id ?? null;
      if (rows.length < EXPORT_BATCH) return;
    }
  }

  private async entries(
    id: number,
    { kind, from, to }: TokenEntriesQuery,
    { before, limit }: { before: number | null; limit: number },
  ): Promise<TokenEntry[]> {
    const rows: unknown[] = await this.subscriptions.query(
      `SELECT id, kind, delta AS tokens, balance_after, reference, created_at FROM token_entries
       WHERE subscription_id = $1 AND ($2::bigint IS NULL OR id < $2) AND ($3::text IS NULL OR kind = $3)
         AND ($4::timestamptz IS NULL OR created_at >= $4) AND ($5::timestamptz IS NULL OR created_at < $5)
       ORDER BY id DESC LIMIT $6`,
      [id, before, kind ?? null, from ?? null, to ?? null, limit],
    );
    return rows.map((row) => entryRow.parse(row));
  }

  private async keepReachable(caller: Caller, id: number): Promise<void> {
    const row = await this.subscriptions.findOneBy({ id });
    if (!row || !this.scope.isReachable(caller, row.userId)) throw noSuch('subscription', id);
  }
}

function beforeOf(cursor: string | undefined): number | null {
  return cursor === undefined ? null : decodeCursor(cursor, cursorKey);
}
