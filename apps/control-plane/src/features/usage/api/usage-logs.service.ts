import { Injectable, type StreamableFile } from '@nestjs/common';
import { TOKEN_FIELDS } from '@tollgate/contracts';
import { z } from 'zod';
import { AccountScope } from '../../../platform/access/account-scope.ts';
import type { Caller } from '../../../platform/access/caller.ts';
import { csvFile, type CsvCell } from '../../../platform/http/csv.ts';
import { decodeCursor, toCursorPage, type CursorPage } from '../../../platform/http/cursor.ts';
import type { UsageLogResponse } from './usage-answers.ts';
import { toUsageLogResponse, usageLogRow, type UsageLogRow } from './usage-log-row.ts';
import { isRequestId } from '../ingest/read-event.ts';
import type { RequestSelection } from './select-requests.ts';
import { refuseSuppliers } from './refuse-suppliers.ts';
import { UsageStore } from './usage-store.sql.ts';
import type { UsageLogs } from './usage.dto.ts';

const EXPORT_BATCH = 1_000;
/** The cursor is the id of the last request of the page, which contains its time. */
const cursorKey = z.string().refine(isRequestId);
const CSV_COLUMNS = [
  'rid',
  'started_at',
  'user_id',
  'username',
  'key_id',
  'key_name',
  'model_id',
  'model',
  'protocol',
  'is_stream',
  'node',
  'upstream_id',
  'upstream',
  'outcome',
  'status',
  ...TOKEN_FIELDS,
  'charge',
  'basis',
  'price_version_id',
  'first_token_ms',
  'duration_ms',
  'request_id',
] as const satisfies (keyof UsageLogResponse)[];

@Injectable()
export class UsageLogsService {
  constructor(
    private readonly store: UsageStore,
    private readonly scope: AccountScope,
  ) {}

  /** Lists requests, newest first, in one row each: a request that was reaped and corrected has the correction's figures. */
  async list(
    caller: Caller,
    query: UsageLogs,
  ): Promise<CursorPage<UsageLogResponse> | StreamableFile> {
    const userId = await this.scope.resolveList(caller, query.user_id);
    refuseSuppliers(caller, query, ['upstream_id', 'node']);
    const describe = (row: UsageLogRow) => toUsageLogResponse(row, caller.role);
    if (query.format === 'csv')
      return csvFile('usage', [...CSV_COLUMNS], this.export(query, userId, describe));
    const beforeRid =
      query.cursor === undefined ? undefined : decodeCursor(query.cursor, cursorKey);
    const rows = await this.read({ ...query, userId, beforeRid, limit: query.page_size + 1 });
    return toCursorPage(rows, {
      pageSize: query.page_size,
      keyOf: (row) => row.rid,
      map: describe,
    });
  }

  /** Returns the booked requests among the given ids, newest first. */
  async byIds(rids: readonly string[]): Promise<UsageLogRow[]> {
    if (rids.length === 0) return [];
    return this.read({ rids, userId: undefined, beforeRid: undefined, limit: rids.length });
  }

  private async *export(
    query: UsageLogs,
    userId: number | undefined,
    describe: (row: UsageLogRow) => UsageLogResponse,
  ): AsyncGenerator<CsvCell[]> {
    for (let beforeRid: string | undefined; ;) {
      const rows = await this.read({ ...query, userId, beforeRid, limit: EXPORT_BATCH });
      for (const response of rows.map(describe))
        yield CSV_COLUMNS.map((column) => response[column]);
      beforeRid = rows.at(-1)?.rid;
      if (rows.length < EXPORT_BATCH) return;
    }
  }

  private async read(which: RequestSelection): Promise<UsageLogRow[]> {
    const rows = await this.store.requests(which);
    return rows.map((row) => usageLogRow.parse(row));
  }
}
