import { Inject, Injectable, type StreamableFile } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { z } from 'zod';
import { CONFIG, type Config } from '../../config.ts';
import { AccountScope } from '../../platform/access/account-scope.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { csvFile, type CsvCell } from '../../platform/http/csv.ts';
import { decodeCursor, toCursorPage, type CursorPage } from '../../platform/http/cursor.ts';
import { noSuch } from '../../platform/http/refusal.ts';
import { SubscriptionRow } from './subscription.entity.ts';
import type {
  TokenEntriesQuery,
  TokenEntry,
  TokenLot,
  TokenLotsQuery,
} from './subscription-history.dto.ts';
import { entriesOf, lotsOf } from './token-history.sql.ts';

const EXPORT_BATCH = 1_000;
const CSV_COLUMNS = ['id', 'created_at', 'kind', 'tokens', 'balance_after', 'reference'] as const;

/** Lists continue downwards from the last row of the previous page. */
const cursorKey = z.int().positive();

@Injectable()
export class SubscriptionHistoryService {
  constructor(
    @InjectRepository(SubscriptionRow) private readonly subscriptions: Repository<SubscriptionRow>,
    private readonly scope: AccountScope,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Lists lots, newest first. It throws not_found for a subscription of another account. */
  async readLots(
    caller: Caller,
    id: number,
    { cursor, page_size: pageSize }: TokenLotsQuery,
  ): Promise<CursorPage<TokenLot>> {
    await this.keepReachable(caller, id);
    const lots = await lotsOf(this.subscriptions.manager, id, {
      before: beforeOf(cursor),
      limit: pageSize + 1,
    });
    return toCursorPage(lots, {
      pageSize,
      keyOf: (lot) => lot.number,
      map: (lot) => ({ ...lot, currency: this.config.CURRENCY }),
    });
  }

  /** Lists the entries of a subscription. Throws not_found for a subscription of another account. */
  async readEntries(
    caller: Caller,
    id: number,
    query: TokenEntriesQuery,
  ): Promise<CursorPage<TokenEntry> | StreamableFile> {
    await this.keepReachable(caller, id);
    if (query.format === 'csv')
      return csvFile(`tokens-${id}`, [...CSV_COLUMNS], this.export(id, query));
    const rows = await entriesOf(this.subscriptions.manager, id, {
      ...query,
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
      const rows: TokenEntry[] = await entriesOf(this.subscriptions.manager, id, {
        ...query,
        before,
        limit: EXPORT_BATCH,
      });
      for (const row of rows) yield CSV_COLUMNS.map((column) => row[column]);
      before = rows.at(-1)?.id ?? null;
      if (rows.length < EXPORT_BATCH) return;
    }
  }

  private async keepReachable(caller: Caller, id: number): Promise<void> {
    const row = await this.subscriptions.findOneBy({ id });
    if (!row || !this.scope.isReachable(caller, row.userId)) throw noSuch('subscription', id);
  }
}

function beforeOf(cursor: string | undefined): number | null {
  return cursor === undefined ? null : decodeCursor(cursor, cursorKey);
}
