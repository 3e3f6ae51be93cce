import { Inject, Injectable } from '@nestjs/common';
import { shardNames, shardOf } from '@tollgate/keyspace';
import { DataSource, type EntityManager } from 'typeorm';
import { z } from 'zod';
import { lockUntilEnd } from '../../platform/database/advisory-hold.ts';
import { ADVISORY_LOCK_FAMILIES } from '../../platform/database/advisory-locks.ts';
import { CONFIG, type Config } from '../../config.ts';
import { prepared } from '../../platform/database/prepared.ts';
import { send } from '../../platform/database/transactions.ts';
import { repeatedLook } from '../../platform/database/repeated-looks.ts';
import { openRestoreSince } from '../restores/read-restores.sql.ts';

const CURRENT = prepared('SELECT shard, epoch FROM shard_epochs WHERE shard = ANY($1)');
/** `is_of_backup` marks an epoch that comes from a backup, which Redis may no longer have. */
const restoredRow = z.object({ shard: z.string(), is_of_backup: z.boolean() });
const epochRow = z.object({ shard: z.string(), epoch: z.string() });

/** Returns SQL for the time at which the epoch in `column` began. Usage that was booked before is part of the balances with which the shard opened. */
export function filledAt(column: string): string {
  return `(SELECT updated_at FROM shard_epochs WHERE epoch = ${column})`;
}

/**
 * Stores the epoch of each shard in PostgreSQL. Usage that was booked before a change of epoch is part of the balances of the rebuilt shard; usage of
 * the old epoch that is booked later is not, and reaches Redis as a separate credit. The lock excludes a third case.
 */
@Injectable()
export class ShardEpochs {
  private readonly shards: string[];

  constructor(
    private readonly dataSource: DataSource,
    @Inject(CONFIG) private readonly config: Pick<Config, 'SHARDS'>,
  ) {
    this.shards = shardNames(config.SHARDS);
  }

  shardOf(accountId: number): string {
    return shardOf(accountId, this.config.SHARDS);
  }

  /**
   * Keeps the epochs of these accounts' shards unchanged until the transaction ends. `alone` also excludes other processes that book usage of the
   * shards. Call it first in a transaction.
   */
  async hold(
    tx: EntityManager,
    accountIds: readonly number[],
    { alone }: { alone: boolean },
  ): Promise<Map<string, string>> {
    const shards = [...new Set(accountIds.map((id) => this.shardOf(id)))].sort();
    if (shards.length === 0) return new Map();
    send(
      tx,
      prepared(
        `SELECT pg_advisory_xact_lock${alone ? '' : '_shared'}(${ADVISORY_LOCK_FAMILIES.shardEpoch}, i) FROM unnest($1::int[]) AS i`,
      ),
      [shards.map((shard) => this.shards.indexOf(shard))],
    );
    // A separate statement is needed, because it must see the changes that the lock waited for.
    const rows: unknown[] = await tx.query(CURRENT, [shards]);
    return new Map(
      rows.map((row) => epochRow.parse(row)).map(({ shard, epoch }) => [shard, epoch]),
    );
  }

  /**
   * Returns those of these accounts' shards whose data stays in Redis because a restore is open: neither an epoch that the books do not know nor a
   * missing epoch empties them. The value says whether this holds for every epoch, because the shard was not filled since.
   */
  async keptByRestore(
    tx: EntityManager,
    accountIds: readonly number[],
  ): Promise<Map<string, boolean>> {
    const shards = [...new Set(accountIds.map((id) => this.shardOf(id)))];
    const since = await openRestoreSince(tx);
    if (since === null) return new Map();
    const rows: unknown[] = await tx.query(
      'SELECT shard, updated_at < $2::timestamptz AS is_of_backup FROM shard_epochs WHERE shard = ANY($1)',
      [shards, since],
    );
    return new Map(
      rows.map((row) => restoredRow.parse(row)).map((row) => [row.shard, row.is_of_backup]),
    );
  }

  /** Returns null before the shard was first filled. */
  async current(shard: string): Promise<string | null> {
    return (await this.currentOf([shard])).get(shard) ?? null;
  }

  /** Omits shards that were never filled. */
  async currentOf(shards: readonly string[]): Promise<Map<string, string>> {
    const rows: unknown[] = await this.dataSource.query(CURRENT, [shards]);
    return new Map(
      rows.map((row) => epochRow.parse(row)).map(({ shard, epoch }) => [shard, epoch]),
    );
  }

  /** Reads as `currentOf` does, for a check each second: see `repeatedLook`. */
  async lookedAt(shards: readonly string[]): Promise<Map<string, string>> {
    const rows = await repeatedLook(this.dataSource, CURRENT, [this.shards]);
    const current = rows.map((row) => epochRow.parse(row));
    return new Map(
      current
        .filter(({ shard }) => shards.includes(shard))
        .map(({ shard, epoch }) => [shard, epoch]),
    );
  }

  /**
   * Changes the epoch. Usage that was booked before has an earlier `created_at`, because the time is read under the lock. After this resolves, all
   * usage of earlier epochs counts as unknown to Redis. Fill the shard afterwards, never before.
   */
  async change(shard: string, epoch: string): Promise<void> {
    await this.dataSource.transaction(async (tx) => {
      await lockUntilEnd(tx, [ADVISORY_LOCK_FAMILIES.shardEpoch, this.shards.indexOf(shard)]);
      await tx.query(
        'INSERT INTO shard_epochs (shard, epoch, updated_at) VALUES ($1, $2, clock_timestamp()) ON CONFLICT (shard) DO UPDATE SET epoch = excluded.epoch, updated_at = excluded.updated_at',
        [shard, epoch],
      );
    });
  }
}
