import { limitFields } from '@tollgate/contracts';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { AccountScope } from '../../platform/access/account-scope.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { readPage, type Page } from '../../platform/http/list-query.ts';
import { noSuch } from '../../platform/http/refusal.ts';
import { CeilingsService } from '../ceilings/ceilings.service.ts';
import { UsageStore } from '../usage/api/usage-store.sql.ts';
import { ApiKeyRow } from './api-key.entity.ts';
import { toKeyResponse } from './key-columns.ts';
import type { KeyList, KeyResponse, ListedKey } from './keys.dto.ts';
import { KeysService } from './keys.service.ts';

/** Lists keys for callers, with their last use and the limits in force. */
@Injectable()
export class ListedKeys {
  constructor(
    @InjectRepository(ApiKeyRow) private readonly rows: Repository<ApiKeyRow>,
    private readonly keys: KeysService,
    private readonly scope: AccountScope,
    private readonly ceilings: CeilingsService,
    private readonly usage: UsageStore,
  ) {}

  async list(caller: Caller, query: KeyList): Promise<Page<ListedKey>> {
    const userId = await this.scope.resolveList(caller, query.user_id);
    const builder = this.rows.createQueryBuilder('key').where("key.status <> 'deleted'");
    if (userId !== undefined) builder.andWhere('key.userId = :userId', { userId });
    if (query.status !== undefined)
      builder.andWhere('key.status = :status', { status: query.status });
    const page = await readPage(builder, query, {
      columns: { id: 'key.id', name: 'key.name', created_at: 'key.createdAt' },
      search: ['key.name', 'key.keyPrefix'],
      map: toKeyResponse,
    });
    return { ...page, data: await this.withUse(page.data) };
  }

  async get(caller: Caller, id: number): Promise<ListedKey> {
    const [key] = await this.withUse([(await this.keys.find(caller, id)).response]);
    if (!key) throw noSuch('key', id);
    return key;
  }

  private async withUse(keys: readonly KeyResponse[]): Promise<ListedKey[]> {
    if (keys.length === 0) return [];
    const keyIds = keys.map(({ id }) => id);
    const userIds = [...new Set(keys.map((key) => key.user_id))];
    const uses = await this.usage.lastUses({ userIds, keyIds });
    const limits = await this.ceilings.inForce(keyIds);
    return keys.map((key) => ({
      ...key,
      last_used_at: uses.get(key.id)?.toISOString() ?? null,
      limits_in_force: limitFields((name) => (limits.get(key.id) ?? key)[name]),
    }));
  }
}
