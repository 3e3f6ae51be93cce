import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { noSuch } from '../http/refusal.ts';
import type { Caller } from './caller.ts';

/**
 * Decides which account's data a call reads or changes. Callers act on their own account; an administrator names another account with `user_id`. Any
 * other caller who names another account gets 404, as if that account did not exist (security S24).
 */
@Injectable()
export class AccountScope {
  constructor(private readonly dataSource: DataSource) {}

  /** Returns the one account to act on. `tx` is the caller's transaction, if one has begun. */
  async resolve(caller: Caller, userId?: number, tx?: EntityManager): Promise<number> {
    if (userId === undefined || userId === caller.userId) return caller.userId;
    if (caller.role !== 'admin' || !(await this.exists(userId, tx)))
      throw noSuch('account', userId, 'user_id');
    return userId;
  }

  /** Returns the account to list, or undefined for all accounts. Only an administrator who names no account gets undefined. */
  async resolveList(caller: Caller, userId?: number): Promise<number | undefined> {
    if (caller.role === 'admin' && userId === undefined) return undefined;
    return this.resolve(caller, userId);
  }

  /** Returns whether a record of `ownerId` may be shown to or changed by the caller. */
  isReachable(caller: Caller, ownerId: number): boolean {
    return caller.role === 'admin' || caller.userId === ownerId;
  }

  /** Locks the account's row until `tx` ends, so that nothing is credited to a deleted account. It throws not_found. */
  async keep(tx: EntityManager, userId: number): Promise<void> {
    const rows: unknown[] = await tx.query(
      'SELECT 1 FROM users WHERE id = $1 AND deleted_at IS NULL FOR SHARE',
      [userId],
    );
    if (rows.length === 0) throw noSuch('account', userId, 'user_id');
  }

  private async exists(userId: number, tx = this.dataSource.manager): Promise<boolean> {
    const rows: unknown[] = await tx.query(
      'SELECT 1 FROM users WHERE id = $1 AND deleted_at IS NULL',
      [userId],
    );
    return rows.length > 0;
  }
}
