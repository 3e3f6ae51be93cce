import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { ceilingFields, LIMIT_NAMES, type KeyLimit, type KeyLimits } from '@tollgate/contracts';
import { InjectRepository } from '@nestjs/typeorm';
import { In, IsNull, type EntityManager, type Repository } from 'typeorm';
import { revokeAccessTokens } from '../../platform/access/access-tokens.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { needFreshPassword } from '../../platform/access/fresh-password.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { refuseStale } from '../../platform/http/entity-tag.ts';
import { noSuch, Refusal } from '../../platform/http/refusal.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { ERASURE_ASKED, eraseAccount } from './erase-account.sql.ts';
import { statusAfter, type UserMove } from './user-transitions.ts';
import { User } from './user.entity.ts';
import {
  toUserResponse,
  type EraseUserBody,
  type ErasureResponse,
  type UpdateUserBody,
  type UserResponse,
} from './users.dto.ts';

@Injectable()
export class UsersService {
  constructor(
    @InjectRepository(User) private readonly users: Repository<User>,
    private readonly transactions: Transactions,
    private readonly activity: ActivityService,
    private readonly liveState: LiveStateService,
  ) {}

  /** Returns any of these accounts, deleted ones included. */
  async byIds(ids: readonly number[]): Promise<ReadonlyMap<number, UserResponse>> {
    const rows = await this.users.findBy({ id: In([...ids]) });
    return new Map(rows.map((row) => [row.id, toUserResponse(row)]));
  }

  async get(id: number): Promise<UserResponse> {
    const row = await this.users.findOneBy({ id });
    if (!row || row.deletedAt !== null) throw noSuch('account', id);
    return toUserResponse(row);
  }

  /** Returns those of the given accounts that are not deleted. */
  async findMany(
    ids: readonly number[],
  ): Promise<(UserResponse & { hasOneTimePassword: boolean })[]> {
    const rows = await this.users.findBy({ id: In([...ids]), deletedAt: IsNull() });
    return rows.map((row) => ({
      ...toUserResponse(row),
      hasOneTimePassword: row.oneTimeUntil !== null,
    }));
  }

  async approve(caller: Caller, id: number): Promise<UserResponse> {
    return this.transactions.run(async (tx) =>
      this.move(tx, caller, { row: await this.lock(tx, id), move: 'approve', drain: false }),
    );
  }

  async reject(caller: Caller, id: number): Promise<UserResponse> {
    return this.transactions.run(async (tx) =>
      this.move(tx, caller, { row: await this.lock(tx, id), move: 'reject', drain: false }),
    );
  }

  async freeze(caller: Caller, id: number, drain: boolean): Promise<UserResponse> {
    return this.transactions.run(async (tx) => {
      const row = await this.lockForDemotion(tx, caller, id);
      return this.move(tx, caller, { row, move: 'freeze', drain });
    });
  }

  async unfreeze(caller: Caller, id: number): Promise<UserResponse> {
    return this.transactions.run(async (tx) =>
      this.move(tx, caller, { row: await this.lock(tx, id), move: 'unfreeze', drain: false }),
    );
  }

  /** Marks the account as deleted. The caller has locked the row for demotion and emptied the account. */
  async markDeleted(
    tx: EntityManager,
    caller: Caller,
    { row, drain }: { row: User; drain: boolean },
  ): Promise<void> {
    await this.move(tx, caller, { row, move: 'delete', drain });
  }

  /** Counts the rows that name the person of a deleted account. */
  async previewErasure(id: number): Promise<ErasureResponse> {
    return this.transactions.run((tx) => this.eraseNames(tx, id, { isDryRun: true }));
  }

  async erase(caller: Caller, id: number, { username }: EraseUserBody): Promise<ErasureResponse> {
    return this.transactions.run(async (tx) => {
      const found = await this.eraseNames(tx, id, { isDryRun: true });
      if (found.username !== username) throw new Refusal('name_not_confirmed');
      const erased = await this.eraseNames(tx, id, { isDryRun: false });
      this.activity.record(tx, caller, {
        action: ERASURE_ASKED,
        target: { kind: 'user', id },
        after: { rows: erased.rows },
      });
      return erased;
    });
  }

  async update(caller: Caller, id: number, body: UpdateUserBody): Promise<UserResponse> {
    return this.transactions.run(async (tx) => {
      const row =
        body.role === 'user' ? await this.lockForDemotion(tx, caller, id) : await this.lock(tx, id);
      refuseStale(caller, row);
      const before = changeableOf(row);
      const after = { ...before, ...definedOf(body) };
      if (isDeepStrictEqual(before, after)) return toUserResponse(row);
      const isRated = !isDeepStrictEqual(before.rates, after.rates);
      // The account's earlier sessions and tokens never become an administrator's.
      const isPromoted = row.role !== 'admin' && after.role === 'admin';
      if (isPromoted) await revokeAccessTokens(tx, id);
      const saved = await tx.getRepository(User).save({
        ...row,
        sessionVersion: row.sessionVersion + (isPromoted ? 1 : 0),
        role: after.role,
        isDemo: after.is_demo,
        ceilings: storedCeilings(after),
        rates: after.rates,
        revision: row.revision + (isRated ? 1 : 0),
      });
      if (isRated) await this.liveState.accountChanged(tx, id);
      if (!isDeepStrictEqual(ceilingsOf(before), ceilingsOf(after)))
        await this.liveState.limitsChanged(tx, [id]);
      this.activity.record(tx, caller, {
        action: 'user.update',
        target: { kind: 'user', id },
        before,
        after,
      });
      return toUserResponse(saved);
    });
  }

  private async eraseNames(
    tx: EntityManager,
    id: number,
    { isDryRun }: { isDryRun: boolean },
  ): Promise<ErasureResponse> {
    const row = await tx.getRepository(User).findOneBy({ id });
    const erased = await eraseAccount(tx, this.activity, { userId: id, isDryRun });
    if (!row || erased === null) throw noSuch('account', id);
    const rows = Object.entries(erased)
      .filter(([, count]) => count > 0)
      .map(([table, count]) => ({ table, rows: count }));
    return { user_id: id, username: row.username, rows };
  }

  private async move(
    tx: EntityManager,
    caller: Caller,
    { row, move, drain }: { row: User; move: UserMove; drain: boolean },
  ): Promise<UserResponse> {
    const status = statusAfter(move, row.status);
    if (!status)
      throw new Refusal('invalid_transition', {
        detail: `The account is ${row.status}: ${move} does not apply`,
      });
    if (row.role === 'admin' && status === 'active') needFreshPassword(caller);
    const saved = await tx.getRepository(User).save({
      ...row,
      status,
      drain,
      // Earlier sessions end now, also in case the account returns.
      sessionVersion: row.sessionVersion + 1,
      revision: row.revision + 1,
      deletedAt: status === 'deleted' ? new Date() : null,
    });
    await this.liveState.accountChanged(tx, row.id);
    this.activity.record(tx, caller, {
      action: `user.${move}`,
      target: { kind: 'user', id: row.id },
      before: { username: row.username, status: row.status },
      after: { username: row.username, status, drain },
    });
    return toUserResponse(saved);
  }

  /** Freezing, deleting and demoting wait for each other, so that two administrators cannot remove each other at once. */
  async lockForDemotion(tx: EntityManager, caller: Caller, id: number): Promise<User> {
    const administrators = await tx.getRepository(User).find({
      where: { role: 'admin', status: 'active' },
      order: { id: 'ASC' },
      lock: { mode: 'pessimistic_write' },
    });
    // The caller may have lost the administrator role while waiting for the locks.
    if (!administrators.some((row) => row.id === caller.userId)) throw new Refusal('forbidden');
    const row = await this.lock(tx, id);
    if (id === caller.userId)
      throw new Refusal(administrators.length === 1 ? 'last_administrator' : 'cannot_change_self');
    return row;
  }

  private async lock(tx: EntityManager, id: number): Promise<User> {
    const row = await tx
      .getRepository(User)
      .findOne({ where: { id }, lock: { mode: 'pessimistic_write' } });
    if (!row || row.deletedAt !== null) throw noSuch('account', id);
    return row;
  }
}

function changeableOf(row: User) {
  const user = toUserResponse(row);
  return { role: user.role, is_demo: user.is_demo, rates: user.rates, ...ceilingsOf(user) };
}

type Ceilings = Pick<UserResponse, `${KeyLimit}_ceiling`>;

function ceilingsOf(user: Ceilings): Ceilings {
  return ceilingFields((name) => user[`${name}_ceiling`]);
}

/** A ceiling that is null is the installation's, and is not stored. */
function storedCeilings(user: Ceilings): Partial<KeyLimits> {
  return Object.fromEntries(
    LIMIT_NAMES.flatMap((name) => {
      const ceiling = user[`${name}_ceiling`];
      return ceiling === null ? [] : [[name, ceiling]];
    }),
  );
}

/** Omits the fields that the body omits. */
function definedOf(body: UpdateUserBody): Partial<ReturnType<typeof changeableOf>> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}
