import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Watch } from '../../platform/background/watch.ts';
import { deleteExpired } from './expired-rollups.sql.ts';

const EVERY_MS = 600_000;

/** Deletes sums by minute and by hour that are older than their retention. The sums by day stay. */
@Injectable()
export class RollupKeeper extends Watch {
  constructor(private readonly dataSource: DataSource) {
    super({
      name: 'usage-rollups',
      everyMs: EVERY_MS,
      failing: 'expired sums of usage cannot be deleted; trying again',
    });
  }

  async look(nowMs = Date.now()): Promise<void> {
    for (const period of ['minute', 'hour'] as const)
      await deleteExpired(this.dataSource, period, nowMs);
  }
}
