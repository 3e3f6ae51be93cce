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

/** Manages the upper bounds of the limits of keys: the account's bound where it has one, otherwise the installation's. 0 means none. */
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
      // TypeORM returns the rows of an UPDATE and their number. `now()` would be the time before this statement waited for other changes.
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

  /** Keeps the installation's ceilings unchanged until `tx` ends, so that a later change sees the key that `tx` inserts. */
  async keep(tx: EntityManager): Promise<void> {
    await tx.query('SELECT 1 FROM ceilings FOR SHARE');
  }

  /** Refuses, by invalid_request, the first limit above its ceiling. An unchanged limit may stay, because admission applies the ceiling. */
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

  /** Returns the rates of an account, which count over all its keys. */
  ratesOf(userId: number): Promise<Rate[]> {
    return ratesOfAccount(this.dataSource, userId);
  }

  /** Returns the limits that admission applies, by key id. */
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
