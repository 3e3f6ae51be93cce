import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { Caller } from '../../platform/access/caller.ts';
import { decodeCursor, toCursorPage, type CursorPage } from '../../platform/http/cursor.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import type { RefusalCode } from '../../platform/http/refusals.ts';
import { ActivityLogsService, type TokenAct } from '../activity/activity-logs.service.ts';
import { AccessTokensService } from '../auth/access-tokens.service.ts';
import {
  MADE_KINDS,
  type DisabledMade,
  type DisableMadeBody,
  type Made,
  type MadeKind,
  type MadeQuery,
} from './made-by-tokens.dto.ts';
import { MadeRecords } from './made-records.ts';

/** Lists the actions of the activity log that create a record. Only sessions reset passwords and create tokens. */
const MAKING = ['user.create', 'key.create', 'key.rotate', 'upstream.create', 'node.create'];
const BATCH = 200;

/** Lists and disables records that an access token created, which remain when it is revoked. */
@Injectable()
export class MadeByTokens {
  constructor(
    private readonly tokens: AccessTokensService,
    private readonly activity: ActivityLogsService,
    private readonly records: MadeRecords,
  ) {}

  /** Lists the records that an access token made, newest first. */
  async list(caller: Caller, tokenId: number, query: MadeQuery): Promise<CursorPage<Made>> {
    await this.tokens.find(caller, tokenId);
    const before =
      query.cursor === undefined ? undefined : decodeCursor(query.cursor, z.int().positive());
    const entries = await this.read(tokenId, { before, limit: query.page_size + 1 });
    const made = await this.describe(caller, entries);
    return toCursorPage(made, {
      pageSize: query.page_size,
      keyOf: ({ entryId }) => entryId,
      map: ({ made: row }) => row,
    });
  }

  /**
   * Freezes accounts, disables keys and upstreams, and removes nodes. The answer names the reason for what cannot be disabled, such as the caller's
   * own account.
   */
  async disable(
    caller: Caller,
    tokenId: number,
    { kinds }: DisableMadeBody,
  ): Promise<DisabledMade> {
    await this.tokens.find(caller, tokenId);
    const result: DisabledMade = { disabled: 0, left: [] };
    for (let before: number | undefined; ;) {
      const entries = await this.read(tokenId, { before, limit: BATCH });
      for (const { made } of await this.describe(caller, entries)) {
        const { kind, id, state } = made;
        if (state !== 'active' || !kinds.includes(kind)) continue;
        const code = await this.disableOne(caller, kind, id);
        if (code === undefined) result.disabled += 1;
        else result.left.push({ kind, id, code });
      }
      if (entries.length < BATCH) return result;
      before = entries.at(-1)?.id;
    }
  }

  private read(
    tokenId: number,
    { before, limit }: { before: number | undefined; limit: number },
  ): Promise<TokenAct[]> {
    return this.activity.doneBy(tokenId, {
      actions: MAKING,
      limit,
      ...(before !== undefined && { before }),
    });
  }

  private async describe(
    caller: Caller,
    entries: readonly TokenAct[],
  ): Promise<{ entryId: number; made: Made }[]> {
    const made = entries.flatMap(({ id, at, targetKind, targetId }) => {
      const kind = MADE_KINDS.find((known) => known === targetKind);
      return kind
        ? [{ entryId: id, row: { kind, id: Number(targetId), made_at: at.toISOString() } }]
        : [];
    });
    const found = await Promise.all(
      MADE_KINDS.map(async (kind) => {
        const ids = made.flatMap(({ row }) => (row.kind === kind ? row.id : []));
        const records = ids.length === 0 ? [] : await this.records.kinds[kind].find(caller, ids);
        return [kind, new Map(records.map((record) => [record.id, record]))] as const;
      }),
    );
    const byKind = new Map(found);
    return made.map(({ entryId, row }) => ({
      entryId,
      made: {
        name: null,
        state: 'deleted' as const,
        has_one_time_password: false,
        ...byKind.get(row.kind)?.get(row.id),
        ...row,
      },
    }));
  }

  /** Returns the code of a refusal, or undefined. */
  private async disableOne(
    caller: Caller,
    kind: MadeKind,
    id: number,
  ): Promise<RefusalCode | undefined> {
    const { disable, isOfAdministrators } = this.records.kinds[kind];
    if (isOfAdministrators && caller.role !== 'admin') return 'forbidden';
    try {
      await disable(caller, id);
      return undefined;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return error.code;
    }
  }
}
