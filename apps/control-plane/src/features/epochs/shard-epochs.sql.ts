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
/** `is_of_backup`: its epoch is what the backup knew, and may be long gone in Redis. */
const restoredRow = z.object({ shard: z.string(), is_of_backup: z.boolean() });
const epochRow = z.object({ shard: z.string(), epoch: z.string() });

/** Returns SQL for the time at which the epoch that `column` names began: what was booked before is part of what its shard opened with. */
export function filledAt(column: string): string {
  return `(SELECT updated_at FROM shard_epochs WHERE epoch = ${column})`;
}

/**
 * Knows the epoch of each shard, as far as PostgreSQL has it. Usage booked before a change of epoch is part of what the rebuilt shard opens with;
 * usage of the old epoch booked after it is not, and reaches Redis as a credit of its own. The lock leaves no third case.
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

  /** Keeps the epochs of these accounts' shards as they are until the transaction ends. `alone`: no other process books usage of them meanwhile. Call it first. */
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
    // A statement of its own: it must see what the lock waited for.
    const rows: unknown[] = await tx.query(CURRENT, [shards]);
    return new Map(
      rows.map((row) => epochRow.parse(row)).map(({ shard, epoch }) => [shard, epoch]),
    );
  }

  /**
   * Returns those of these accounts' shards whose data stays in Redis because a restore is open: neither an epoch that the books do not know nor a missing
   * one empties them. The value: whether that is so for every epoch, as the shard was not filled since.
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

  /** Null before the shard was first filled. */
  async current(shard: string): Promise<string | null> {
    return (await this.currentOf([shard])).get(shard) ?? null;
  }

  /** Leaves out the shards that were never filled. */
  async currentOf(shards: readonly string[]): Promise<Map<string, string>> {
    const rows: unknown[] = await this.dataSource.query(CURRENT, [shards]);
    return new Map(
      rows.map((row) => epochRow.parse(row)).map(({ shard, epoch }) => [shard, epoch]),
    );
  }

  /** Reads as `currentOf` does, for a look each second: see `repeatedLook`. */
  async lookedAt(shards: readonly string[]): Promise<Map<string, string>> {
    const rows = await repeatedLook(this.dataSource, CURRENT, [this.shards]);
    const current = rows.map((row) => epochRow.parse(row));
    return new Map(
      current
        .filter(({ shard }) => shards.includes(shard))
        .map(({ shard, epoch }) => [shard, epoch]),
    );
  }

  /** Changes the epoch. Usage booked before has an earlier `created_at`: the time is read under the lock. From when this resolves, all usage of earlier epochs counts as unknown to Redis. Fill the shard afterwards, never before. */
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
