import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { noSuch } from '../http/refusal.ts';
import type { Caller } from './caller.ts';

/**
 * Decides which account's data a call is about. Callers act on their own account; an administrator names another with `user_id`.
 * Anyone else naming another account learns nothing: 404, as if it did not exist (security S24).
 */
@Injectable()
export class AccountScope {
  constructor(private readonly dataSource: DataSource) {}

  /** The one account to act on. `tx`: of a transaction that has begun. */
  async resolve(caller: Caller, userId?: number, tx?: EntityManager): Promise<number> {
    if (userId === undefined || userId === caller.userId) return caller.userId;
    if (caller.role !== 'admin' || !(await this.exists(userId, tx)))
      throw noSuch('account', userId, 'user_id');
    return userId;
  }

  /** For lists: one account, or undefined = all accounts, which only an administrator who names none gets. */
  async resolveList(caller: Caller, userId?: number): Promise<number | undefined> {
    if (caller.role === 'admin' && userId === undefined) return undefined;
    return this.resolve(caller, userId);
  }

  /** Returns whether a record of `ownerId` may be shown to or changed by the caller. */
  isReachable(caller: Caller, ownerId: number): boolean {
    return caller.role === 'admin' || caller.userId === ownerId;
  }

  /** Keeps an account from being deleted until `tx` ends, so that nothing is credited to one that is gone. Throws not_found. */
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
