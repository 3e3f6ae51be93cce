import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { EntityManager, Repository } from 'typeorm';
import type { Role } from '../../platform/access/caller.ts';
import { isUniqueViolation } from '../../platform/database/database-errors.ts';
import { skeletonsOf } from '../../platform/database/skeletons.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import { refuseLookalike } from './lookalikes.sql.ts';
import type { UserStatus } from './user-transitions.ts';
import { User } from './user.entity.ts';

/** Holds the facts of an account that signing in needs. They never leave the server. */
export interface Credentials {
  userId: number;
  username: string;
  role: Role;
  status: UserStatus;
  passwordHash: string;
  sessionVersion: number;
  /** Is the time until which a one-time password is valid; null for a password of the owner's choice. */
  oneTimeUntil: Date | null;
}

export interface NewAccount {
  username: string;
  passwordHash: string;
  role: Role;
  status: 'pending' | 'active';
  oneTimeUntil?: Date;
  isDemo?: boolean;
}

/** Manages accounts for signing in; UsersService is the administrator's view. */
@Injectable()
export class AccountsService {
  constructor(@InjectRepository(User) private readonly users: Repository<User>) {}

  /** Names are compared without case. */
  async findByName(username: string): Promise<Credentials | undefined> {
    const row = await this.users
      .createQueryBuilder('user')
      .where('lower(user.username) = lower(:username) AND user.deletedAt IS NULL', { username })
      .getOne();
    return row ? toCredentials(row) : undefined;
  }

  async findById(userId: number): Promise<(Credentials & { createdAt: Date }) | undefined> {
    const row = await this.users.findOneBy({ id: userId });
    return row && row.deletedAt === null
      ? { ...toCredentials(row), createdAt: row.createdAt }
      : undefined;
  }

  /** Creates an account. Throws username_taken, also for a name that looks like an existing one. */
  async create(tx: EntityManager, account: NewAccount): Promise<Credentials> {
    const users = tx.getRepository(User);
    const skeletons = skeletonsOf(account.username);
    await refuseLookalike(tx, skeletons);
    try {
      return toCredentials(
        await users.save(
          users.create({
            ...account,
            skeletons,
            sessionVersion: 1,
            revision: 1,
            drain: false,
            deletedAt: null,
            oneTimeUntil: account.oneTimeUntil ?? null,
            isDemo: account.isDemo ?? false,
          }),
        ),
      );
    } catch (error) {
      if (isUniqueViolation(error, 'users_username')) throw new Refusal('username_taken');
      throw error;
    }
  }

  /** Ends every session, the current one included. With `oneTimeUntil` the owner must set a password before any other act. */
  async setPassword(
    tx: EntityManager,
    userId: number,
    passwordHash: string,
    oneTimeUntil: Date | null = null,
  ): Promise<Credentials> {
    return this.change(tx, userId, { passwordHash, oneTimeUntil });
  }

  async endSessions(tx: EntityManager, userId: number): Promise<void> {
    await this.change(tx, userId, {});
  }

  async hasAdministrator(tx: EntityManager): Promise<boolean> {
    const users = tx.getRepository(User);
    return users
      .createQueryBuilder('user')
      .where("user.role = 'admin' AND user.deletedAt IS NULL")
      .getExists();
  }

  private async change(
    tx: EntityManager,
    userId: number,
    change: { passwordHash?: string; oneTimeUntil?: Date | null },
  ): Promise<Credentials> {
    const users = tx.getRepository(User);
    const row = await users.findOne({ where: { id: userId }, lock: { mode: 'pessimistic_write' } });
    if (!row || row.deletedAt !== null) throw new Refusal('not_found');
    return toCredentials(
      await users.save({ ...row, ...change, sessionVersion: row.sessionVersion + 1 }),
    );
  }
}

function toCredentials(row: User): Credentials {
  return {
    userId: row.id,
    username: row.username,
    role: row.role,
    status: row.status,
    passwordHash: row.passwordHash,
    sessionVersion: row.sessionVersion,
    oneTimeUntil: row.oneTimeUntil,
  };
}
