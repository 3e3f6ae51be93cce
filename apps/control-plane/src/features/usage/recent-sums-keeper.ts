import { Injectable } from '@nestjs/common';
import { Watch } from '../../platform/background/watch.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { makeRecentSums } from './recent-sums.sql.ts';

const EVERY_MS = 300_000;

/** Keeps the sums by which the greatest users and keys of a month are found. */
@Injectable()
export class RecentSumsKeeper extends Watch {
  constructor(private readonly transactions: Transactions) {
    super({
      name: 'usage-recent',
      everyMs: EVERY_MS,
      failing: 'sums of the last weeks cannot be made; lists of the greatest users read all days',
    });
  }

  look(): Promise<void> {
    return makeRecentSums(this.transactions);
  }
}
