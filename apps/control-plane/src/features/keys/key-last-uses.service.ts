import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { lastUsesOf } from '../usage/last-uses.ts';
import type { KeyResponse } from './keys.dto.ts';

/** When keys were last used, according to the ledger of usage: a second or two behind the nodes. */
@Injectable()
export class KeyLastUses {
  constructor(private readonly dataSource: DataSource) {}

  /** By the ids of keys; without those that were not used yet. */
  async of(keys: readonly KeyResponse[]): Promise<ReadonlyMap<number, string>> {
    if (keys.length === 0) return new Map();
    const uses = await lastUsesOf(this.dataSource, {
      userIds: [...new Set(keys.map((key) => key.user_id))],
      keyIds: keys.map((key) => key.id),
    });
    return new Map(uses.map(({ key_id: id, at }) => [id, at.toISOString()]));
  }
}
