import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, Repository } from 'typeorm';
import { ApiKeyRow } from './api-key.entity.ts';

export interface KeyOwner {
  keyId: number;
  userId: number;
}

/** Finds the owners of keys that clients presented to nodes, and counts the keys of owners. */
@Injectable()
export class KeyOwners {
  constructor(@InjectRepository(ApiKeyRow) private readonly keys: Repository<ApiKeyRow>) {}

  /** Maps key hashes to owners. Deleted keys still have an owner; keys that were never issued are absent. */
  async of(hashes: readonly string[]): Promise<Map<string, KeyOwner>> {
    if (hashes.length === 0) return new Map();
    const rows = await this.keys.find({
      where: { keyHash: In([...hashes]) },
      select: { id: true, userId: true, keyHash: true },
    });
    return new Map(rows.map(({ id, userId, keyHash }) => [keyHash, { keyId: id, userId }]));
  }

  /** Counts the enabled keys of each of these accounts that has any. */
  async countEnabled(userIds: readonly number[]): Promise<Map<number, number>> {
    const rows = await this.keys
      .createQueryBuilder('key')
      .select('key.userId', 'id')
      .addSelect('count(*)::int', 'count')
      .where('key.userId = ANY(:userIds)', { userIds })
      .andWhere("key.status = 'enabled'")
      .groupBy('key.userId')
      .getRawMany<{ id: number; count: number }>();
    return new Map(rows.map(({ id, count }) => [id, count]));
  }
}
