import { Injectable } from '@nestjs/common';
import { WINDOW_NAMES, type RequestLimits } from '@tollgate/contracts';
import { DataSource, type EntityManager } from 'typeorm';
import { z } from 'zod';
import type { Caller } from '../../platform/access/caller.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { refuseStale } from '../../platform/http/entity-tag.ts';
import { invalidField } from '../../platform/http/refusal.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { accountsUnderCeilings, ceilingsOfAccount } from '../users/read-accounts.sql.ts';
import {
  ABOVE_CEILING,
  limitsInForceSchema,
  type Ceilings,
  type CeilingsBody,
} from './ceilings.dto.ts';

const OWN = 'SELECT rpm, rph, rpd, updated_at FROM request_ceilings';
const ownRow = limitsInForceSchema.extend({ updated_at: z.date() });
const limitsOfKey = limitsInForceSchema.extend({ key_id: z.number() });

/** Bounds of the request limits of keys: the account's where it has one, else the installation's. 0 = none. */
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
      const { rpm, rph, rpd } = { ...before, ...body };
      // TypeORM answers an UPDATE with its rows and their number. `now()` would be the time before this waited for other changes.
      const [[changed]]: [unknown[], number] = await tx.query(
        'UPDATE request_ceilings SET rpm = $1, rph = $2, rpd = $3, updated_at = clock_timestamp() RETURNING rpm, rph, rpd, updated_at',
        [rpm, rph, rpd],
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
    await tx.query('SELECT 1 FROM request_ceilings FOR SHARE');
  }

  /** Throws invalid_request, naming the first limit above its ceiling. A limit as it was may stay: its ceiling is in force. */
  async refuseAbove(
    tx: EntityManager,
    userId: number,
    limits: Partial<RequestLimits>,
    was?: RequestLimits,
  ): Promise<void> {
    const changed = WINDOW_NAMES.filter((window) => limits[window] !== was?.[window]);
    if (changed.every((window) => limits[window] === undefined)) return;
    const own = await ceilingsOfAccount(tx, userId);
    const [row]: unknown[] = await tx.query(OWN);
    const common = toCeilings(row);
    for (const window of changed) {
      const ceiling = own[window] ?? common[window];
      if (ceiling > 0 && (limits[window] ?? 0) > ceiling)
        throw invalidField(window, `${ABOVE_CEILING}, which is ${ceiling}`);
    }
  }

  /** Returns the limits that admission counts against, by the ids of keys. */
  async inForce(keyIds: readonly number[]): Promise<ReadonlyMap<number, RequestLimits>> {
    const rows: unknown[] = await this.dataSource.query(
      'SELECT key_id, rpm, rph, rpd FROM key_limits WHERE key_id = ANY($1::int[])',
      [keyIds],
    );
    return new Map(
      rows
        .map((row) => limitsOfKey.parse(row))
        .map(({ key_id: id, ...limits }) => [id, limits] as const),
    );
  }
}

function toCeilings(row: unknown): Ceilings {
  const { updated_at: at, ...limits } = ownRow.parse(row);
  return { ...limits, updated_at: at.toISOString() };
}
