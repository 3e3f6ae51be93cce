import { Inject, Injectable } from '@nestjs/common';
import { LiveRecords, normaliseAllowlist, shardNames } from '@tollgate/keyspace';
import { CONFIG, type Config } from '../../config.ts';
import { asOpened, LiveRows } from './live-rows.sql.ts';
import { refuseFenced } from './shard-fenced.ts';

/** Is the number of rows that are read and written together. */
const PAGE = 500;

export interface Rewritten {
  accounts: number;
  keys: number;
  subscriptions: number;
}

/** Fills a shard from PostgreSQL: at the first start, and after Redis lost its data. */
@Injectable()
export class LiveRebuildService {
  constructor(
    private readonly rows: LiveRows,
    private readonly records: LiveRecords,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Writes every account, key and subscription of the shard. A subscription that Redis has keeps its balance. Another one opens with the booked
   * balance less overdraft and with the number of the last credit, so that credits that are still on their way have no further effect. Throws unless
   * the epoch is set and known to this process.
   */
  async rewriteAll(shard: string): Promise<Rewritten> {
    const index = shardNames(this.config.SHARDS).indexOf(shard);
    if (index === -1) throw new RangeError(`there is no shard ${shard}`);
    const accounts = await this.eachPage(
      index,
      (which) => this.rows.accounts(which),
      (row) => ({ id: row.accountId, write: this.records.putAccount(row) }),
    );
    const keys = await this.eachPage(
      index,
      (which) => this.rows.keys(which),
      ({ ipAllowlist, ...row }) => ({
        id: row.id,
        write: this.records.putKey({ ...row, allowlist: normaliseAllowlist(ipAllowlist) }),
      }),
    );
    const subscriptions = await this.eachPage(
      index,
      (which) => this.rows.subscriptions(which),
      (row) => ({
        id: row.id,
        write: this.records.putSubscription(asOpened(row)),
      }),
    );
    await this.eachPage(
      index,
      (which) => this.rows.budgetCounts(which),
      ({ id, used }) => ({ id, write: this.records.budgets.fill(id, used) }),
    );
    return { accounts, keys, subscriptions };
  }

  /**
   * Removes balances, holds and events of the shard. `rewriteAll` replaces keys and accounts, whose revisions only rise. `reaped` lists requests
   * whose reap is booked; they stay known.
   */
  async forgetAll(shard: string, reaped: ReadonlySet<string>): Promise<void> {
    await this.records.forgetHolds(shard, reaped);
    await this.eachPage(
      shardNames(this.config.SHARDS).indexOf(shard),
      (which) => this.rows.subscriptions(which),
      ({ id, userId, modelId }) => ({
        id,
        write: this.records
          .discardBalance({ accountId: userId, modelId })
          .then(() => ({ kind: 'applied' })),
      }),
    );
    await this.eachPage(
      shardNames(this.config.SHARDS).indexOf(shard),
      (which) => this.rows.budgetCounts(which),
      ({ id }) => ({ id, write: this.records.budgets.discard(id) }),
    );
  }

  private async eachPage<Row>(
    index: number,
    read: (which: {
      shards: number;
      index: number;
      afterId: number;
      limit: number;
    }) => Promise<Row[]>,
    put: (row: Row) => { id: number; write: Promise<{ kind: string }> },
  ): Promise<number> {
    let count = 0;
    for (let afterId = 0; ;) {
      const rows = await read({ shards: this.config.SHARDS, index, afterId, limit: PAGE });
      const writes = rows.map(put);
      // All writes are awaited together: an unhandled rejection ends the process, and Redis may fail between two writes.
      for (const reply of await Promise.all(writes.map(({ write }) => write))) refuseFenced(reply);
      count += rows.length;
      if (rows.length < PAGE) return count;
      afterId = Math.max(...writes.map(({ id }) => id));
    }
  }
}
