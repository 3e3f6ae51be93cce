import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { DataSource, In, LessThan, Repository } from 'typeorm';
import { z } from 'zod';
import { idField, timeField } from '../../platform/http/answer-fields.ts';
import {
  cursorQuery,
  decodeCursor,
  toCursorPage,
  type CursorPage,
} from '../../platform/http/cursor.ts';
import { idFilter, momentField } from '../../platform/http/list-query.ts';
import { nameRecords, type RecordName, type RecordRef } from '../names/record-names.sql.ts';
import { ActivityLogEntry } from './activity-log.entity.ts';

export const activityLogsQuery = cursorQuery({
  actor_user_id: idFilter.optional(),
  action: z.string().max(100).optional(),
  target_kind: z.string().max(100).optional(),
  target_id: z.string().max(100).optional(),
  token_id: idFilter.optional(),
  from: momentField.optional(),
  to: momentField.optional(),
});
export type ActivityLogsQuery = z.output<typeof activityLogsQuery>;

export const activityLogResponseSchema = z
  .object({
    id: idField,
    at: timeField,
    actor_user_id: idField.nullable().describe('null for the system'),
    actor_name: z.string().nullable(),
    action: z.string().describe('`<kind>.<verb>`, e.g. `key.disable`'),
    target_kind: z.string(),
    target_id: z.string().nullable(),
    target_name: z.string().nullable().describe('As it is now; null where it has none'),
    target_user_id: idField.nullable().describe('The account that the target belongs to'),
    target_is_gone: z.boolean().describe('It, or its account, is deleted'),
    before: z.unknown().describe('Secrets are masked'),
    after: z.unknown(),
    address: z.string().nullable(),
    request_id: z.string().nullable(),
    token_id: idField.nullable().describe('The access token that the call came with'),
  })
  .meta({ id: 'ActivityEntry' });
export type ActivityLogResponse = z.output<typeof activityLogResponseSchema>;

/** Is an act of an access token. */
export type TokenAct = Pick<ActivityLogEntry, 'id' | 'at' | 'targetKind' | 'targetId'>;

@Injectable()
export class ActivityLogsService {
  constructor(
    @InjectRepository(ActivityLogEntry) private readonly entries: Repository<ActivityLogEntry>,
    private readonly dataSource: DataSource,
  ) {}

  /** Returns the entries of these actions that an access token made, newest first: at most `limit` entries below the id `before`. */
  async doneBy(
    tokenId: number,
    { actions, before, limit }: { actions: readonly string[]; before?: number; limit: number },
  ): Promise<TokenAct[]> {
    return this.entries.find({
      select: { id: true, at: true, targetKind: true, targetId: true },
      where: {
        tokenId,
        action: In([...actions]),
        ...(before !== undefined && { id: LessThan(before) }),
      },
      order: { id: 'DESC' },
      take: limit,
    });
  }

  /** Lists entries, newest first. `from` is inclusive, `to` is exclusive. */
  async list(query: ActivityLogsQuery): Promise<CursorPage<ActivityLogResponse>> {
    const builder = this.entries
      .createQueryBuilder('entry')
      .orderBy('entry.id', 'DESC')
      .take(query.page_size + 1);
    if (query.cursor !== undefined)
      builder.andWhere('entry.id < :before', {
        before: decodeCursor(query.cursor, z.int().positive()),
      });
    if (query.actor_user_id !== undefined)
      builder.andWhere('entry.actorUserId = :actor', { actor: query.actor_user_id });
    if (query.action !== undefined)
      builder.andWhere('entry.action = :action', { action: query.action });
    if (query.target_kind !== undefined)
      builder.andWhere('entry.targetKind = :kind', { kind: query.target_kind });
    if (query.target_id !== undefined)
      builder.andWhere('entry.targetId = :target', { target: query.target_id });
    if (query.token_id !== undefined)
      builder.andWhere('entry.tokenId = :token', { token: query.token_id });
    if (query.from !== undefined) builder.andWhere('entry.at >= :from', { from: query.from });
    if (query.to !== undefined) builder.andWhere('entry.at < :to', { to: query.to });
    const rows = await builder.getMany();
    const nameOf = await nameRecords(this.dataSource, rows.map(targetOf));
    return toCursorPage(rows, {
      pageSize: query.page_size,
      keyOf: (row) => row.id,
      map: (row) => toActivityLogResponse(row, nameOf(targetOf(row))),
    });
  }
}

const targetOf = ({ targetKind, targetId }: ActivityLogEntry): RecordRef => ({
  kind: targetKind,
  id: targetId,
});

function toActivityLogResponse(
  row: ActivityLogEntry,
  { name, userId, isGone }: RecordName,
): ActivityLogResponse {
  return {
    id: row.id,
    at: row.at.toISOString(),
    actor_user_id: row.actorUserId,
    actor_name: row.actorName,
    action: row.action,
    target_kind: row.targetKind,
    target_id: row.targetId,
    target_name: name,
    target_user_id: userId,
    target_is_gone: isGone,
    before: row.before,
    after: row.after,
    address: row.address,
    request_id: row.requestId,
    token_id: row.tokenId,
  };
}
