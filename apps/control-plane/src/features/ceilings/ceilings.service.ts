import { Injectable } from '@nestjs/common';
import { limitFields, LIMIT_NAMES, type KeyLimits, type Rate } from '@tollgate/contracts';
import { DataSource, type EntityManager } from 'typeorm';
import { z } from 'zod';
import type { Caller } from '../../platform/access/caller.ts';
import { storedLimits } from '../../platform/database/columns.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { refuseStale } from '../../platform/http/entity-tag.ts';
import { invalidField } from '../../platform/http/refusal.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import {
  accountsUnderCeilings,
  ceilingsOfAccount,
  ratesOfAccount,
} from '../users/read-accounts.sql.ts';
import { ABOVE_CEILING, type Ceilings, type CeilingsBody } from './ceilings.dto.ts';

const OWN = 'SELECT limits, updated_at FROM ceilings';
const ownRow = z.object({ limits: storedLimits, updated_at: z.date() });
const limitsOfKey = z.object({ key_id: z.number(), in_force: storedLimits });

/** Bounds of the limits of keys: the account's where it has one, else the installation's. 0 = none. */
@Injectable()
export class CeilingsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly transactions: Transactions,
    private readonly liveState: LiveStateService,
    private readonly activity: ActivityService,
  ) {}

  async read(): Promise<Ceilings> {
    const [row]: unknown[] = await this.dataSource.query(OWN);
    return toCeilings(row);
  }

  change(caller: Caller, body: CeilingsBody): Promise<Ceilings> {
    return this.transactions.run(async (tx) => {
      const [row]: unknown[] = await tx.query(`${OWN} FOR UPDATE`);
      const before = toCeilings(row);
      refuseStale(caller, { updatedAt: new Date(before.updated_at) });
      const limits = limitFields((name) => body[name] ?? before[name]);
      // TypeORM answers an UPDATE with its rows and their number. `now()` would be the time before this waited for other changes.
      const [[changed]]: [unknown[], number] = await tx.query(
        'UPDATE ceilings SET limits = $1, updated_at = clock_timestamp() RETURNING limits, updated_at',
        [limits],
      );
      const after = toCeilings(changed);
      await this.liveState.limitsChanged(tx, await accountsUnderCeilings(tx));
      const target = { kind: 'ceilings', id: null };
      this.activity.record(tx, caller, { action: 'ceilings.update', target, before, after });
      return after;
    });
  }

  /** No ceiling of the installation changes until `tx` ends, so that a later change sees the key that `tx` inserts. */
  async keep(tx: EntityManager): Promise<void> {
    await tx.query('SELECT 1 FROM ceilings FOR SHARE');
  }

  /** Throws invalid_request, naming the first limit above its ceiling. A limit as it was may stay: its ceiling is in force. */
  async refuseAbove(
    tx: EntityManager,
    userId: number,
    limits: Partial<KeyLimits> = {},
    was: Partial<KeyLimits> = {},
  ): Promise<void> {
    const raised = LIMIT_NAMES.filter((name) => limits[name] && limits[name] !== was[name]);
    if (raised.length === 0) return;
    const own = await ceilingsOfAccount(tx, userId);
    const [row]: unknown[] = await tx.query(OWN);
    const common = toCeilings(row);
    for (const name of raised) {
      const ceiling = own[name] ?? common[name];
      if (ceiling > 0 && (limits[name] ?? 0) > ceiling)
        throw invalidField(name, `${ABOVE_CEILING}, which is ${ceiling}`);
    }
  }

  /** Returns the rates of an account, over all its keys. */
  ratesOf(userId: number): Promise<Rate[]> {
    return ratesOfAccount(this.dataSource, userId);
  }

  /** Returns the limits that admission counts against, by the ids of keys. */
  async inForce(keyIds: readonly number[]): Promise<ReadonlyMap<number, KeyLimits>> {
    const rows: unknown[] = await this.dataSource.query(
      'SELECT key_id, in_force FROM key_limits WHERE key_id = ANY($1::int[])',
      [keyIds],
    );
    return new Map(
      rows
        .map((row) => limitsOfKey.parse(row))
        .map(({ key_id: id, in_force: found }) => [id, limitFields((name) => found[name] ?? 0)]),
    );
  }
}

function toCeilings(row: unknown): Ceilings {
  const { updated_at: at, limits } = ownRow.parse(row);
  return { ...limitFields((name) => limits[name] ?? 0), updated_at: at.toISOString() };
}
