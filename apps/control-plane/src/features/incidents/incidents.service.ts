import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { AccountScope } from '../../platform/access/account-scope.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { decodeCursor, toCursorPage, type CursorPage } from '../../platform/http/cursor.ts';
import { nameRecords, type RecordRef } from '../names/record-names.sql.ts';
import { isRequestId } from '../usage/ingest/read-event.ts';
import type {
  RefusalCounts,
  RefusalCountsAnswer,
  RefusedRequestResponse,
  RefusedRequests,
  UpstreamErrorResponse,
  UpstreamErrors,
} from './incidents.dto.ts';
import { INCIDENTS_KEPT_MS } from './incidents.sql.ts';
import {
  IncidentReader,
  type CountRow,
  type ExcerptRow,
  type RefusedRow,
} from './read-incidents.sql.ts';

const lastRid = z.string().refine(isRequestId);
const lastExcerpt = z.tuple([lastRid, z.number()]);

/** Answers why requests failed. Users see the refused requests of their own account. */
@Injectable()
export class IncidentsService {
  constructor(
    private readonly reader: IncidentReader,
    private readonly scope: AccountScope,
    private readonly dataSource: DataSource,
  ) {}

  async refused(
    caller: Caller,
    query: RefusedRequests,
  ): Promise<CursorPage<RefusedRequestResponse>> {
    const userId = await this.scope.resolveList(caller, query.user_id);
    const { cursor, page_size: pageSize } = query;
    const beforeRid = cursor === undefined ? undefined : decodeCursor(cursor, lastRid);
    const rows = await this.reader.refused(query, { userId, beforeRid, limit: pageSize + 1 });
    const nameOf = await this.names(rows);
    return toCursorPage(rows, {
      pageSize,
      keyOf: ({ rid }) => rid,
      map: (row) => toRefusedResponse(row, { nameOf, role: caller.role }),
    });
  }

  /** Returns the refused request with this id, if the caller may see it. */
  async findRefused(caller: Caller, rid: string): Promise<RefusedRequestResponse | undefined> {
    const userId = await this.scope.resolveList(caller);
    const [row] = await this.reader.refused({ rid }, { userId, limit: 1 });
    if (!row) return undefined;
    return toRefusedResponse(row, { nameOf: await this.names([row]), role: caller.role });
  }

  async counts(caller: Caller, query: RefusalCounts): Promise<RefusalCountsAnswer> {
    const userId = await this.scope.resolveList(caller, query.user_id);
    const { from = new Date(Date.now() - INCIDENTS_KEPT_MS), to, key_id: keyId } = query;
    const rows = await this.reader.counts({ userId, keyId, from, to });
    const nameOf = await this.names(rows);
    return { total: rows[0]?.total ?? 0, data: rows.map((row) => toCount(row, nameOf)) };
  }

  async upstreamErrors(query: UpstreamErrors): Promise<CursorPage<UpstreamErrorResponse>> {
    const { cursor, page_size: pageSize } = query;
    const before = cursor === undefined ? undefined : decodeCursor(cursor, lastExcerpt);
    const rows = await this.reader.excerpts(query, { before, limit: pageSize + 1 });
    const nameOf = await this.names(rows);
    return toCursorPage(rows, {
      pageSize,
      keyOf: ({ rid, place }) => [rid, place],
      map: (row) => toUpstreamError(row, nameOf),
    });
  }

  private async names(rows: readonly Partial<Named>[]): Promise<NameOf> {
    const idsOf = (kind: Kind): RecordRef[] =>
      rows.map((row) => ({ kind, id: String(row[`${kind}_id`] ?? '') }));
    const refs = KINDS.flatMap(idsOf);
    const found = await nameRecords(this.dataSource, refs);
    return (kind, row) => found({ kind, id: String(row[`${kind}_id`] ?? '') }).name;
  }
}

const KINDS = ['user', 'key', 'upstream'] as const;
type Kind = (typeof KINDS)[number];
type Named = Record<`${Kind}_id`, number | null>;
type NameOf = (kind: Kind, row: Partial<Named>) => string | null;

type Asker = Pick<
  RefusedRequestResponse,
  'user_id' | 'username' | 'key_id' | 'key_name' | 'code' | 'status'
>;

function toAsker(row: RefusedRow | CountRow, nameOf: NameOf): Asker {
  return {
    user_id: row.user_id,
    username: nameOf('user', row),
    key_id: row.key_id || null,
    key_name: nameOf('key', row),
    code: row.code,
    status: row.status,
  };
}

function toRefusedResponse(
  row: RefusedRow,
  { nameOf, role }: { nameOf: NameOf; role: Caller['role'] },
): RefusedRequestResponse {
  return {
    rid: row.rid,
    at: row.at.toISOString(),
    ...toAsker(row, nameOf),
    model: row.model,
    message: row.message,
    node: role === 'admin' ? row.node : null,
  };
}

function toCount(row: CountRow, nameOf: NameOf): RefusalCountsAnswer['data'][number] {
  return { ...toAsker(row, nameOf), count: row.count, last_at: row.last_at.toISOString() };
}

function toUpstreamError(row: ExcerptRow, nameOf: NameOf): UpstreamErrorResponse {
  return {
    rid: row.rid,
    place: row.place,
    at: row.at.toISOString(),
    user_id: row.user_id,
    username: nameOf('user', row),
    upstream_id: row.upstream_id,
    upstream: nameOf('upstream', row),
    status: row.status,
    excerpt: row.excerpt,
  };
}
