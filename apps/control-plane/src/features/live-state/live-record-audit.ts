import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import {
  isUnreadable,
  LiveRecords,
  normaliseAllowlist,
  type LiveAccount,
  type LiveKey,
} from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { isWritePromised } from './live-outbox.sql.ts';
import { LiveRecordWriter } from './live-record-writer.ts';
import { LiveRows, type KeyLiveRow } from './live-rows.sql.ts';
import type { LiveRecord } from './live-target.ts';

const UNREADABLE = 'unreadable';

/** Names the account, key and subscription of a use, as its final names them. */
export interface KeyUse {
  accountId: number;
  keyId: number;
  /** Is undefined in the final of a request whose node was lost. */
  keyHash: string | undefined;
}

/**
 * Compares live records of keys and accounts with their rows when they are used. Only the control plane writes them, each change with a higher
 * revision. Three cases show that Redis was altered: a record that differs from the row of its revision, a record of a higher revision, and a key
 * without a row. Such records are removed and written again. A record of a lower revision is written again unless its write is on its way, because
 * someone put back an older copy.
 */
@Injectable()
export class LiveRecordAudit {
  constructor(
    private readonly dataSource: DataSource,
    private readonly rows: LiveRows,
    private readonly records: LiveRecords,
    private readonly writer: LiveRecordWriter,
  ) {}

  /**
   * Returns a sentence for each altered record. `isRepeating` says that Redis may lack its latest writes, which are being repeated; older records are
   * then no finding.
   */
  async check(uses: readonly KeyUse[], { isRepeating = false } = {}): Promise<string[]> {
    const keyRows = new Map(
      (await this.rows.keys([...new Set(uses.map(({ keyId }) => keyId))])).map((row) => [
        row.id,
        row,
      ]),
    );
    const found: string[] = [];
    for (const use of uses)
      found.push(...(await this.checkKey(use, keyRows.get(use.keyId), isRepeating)));
    const accountIds = [...new Set(uses.map(({ accountId }) => accountId))];
    for (const row of await this.rows.accounts(accountIds))
      found.push(...(await this.checkAccount(row, isRepeating)));
    return found;
  }

  private async checkKey(
    use: KeyUse,
    row: KeyLiveRow | undefined,
    isRepeating: boolean,
  ): Promise<string[]> {
    const { accountId, keyId, keyHash } = use;
    const isRow = row?.accountId === accountId && (keyHash ?? row.keyHash) === row.keyHash;
    if (!isRow) return keyHash === undefined ? [] : this.removeUnknown(use, keyHash);
    return this.checkRecord<LiveKey>({
      record: { kind: 'key', id: keyId },
      row: toLiveKey(row),
      isRepeating,
      readRow: async () => (await this.rows.keys([keyId])).map(toLiveKey)[0],
      readLive: () => this.records.getKey(accountId, row.keyHash).catch(foreign),
      discard: () => this.records.discard(accountId, row.keyHash),
    });
  }

  private async removeUnknown({ accountId, keyId }: KeyUse, keyHash: string): Promise<string[]> {
    if (!(await this.rows.hasKey({ keyHash, userId: accountId })))
      await this.records.discard(accountId, keyHash);
    return [`a key of account ${accountId} was used that is not key ${keyId}, as Redis said`];
  }

  private checkAccount(row: LiveAccount, isRepeating: boolean): Promise<string[]> {
    const { accountId } = row;
    return this.checkRecord<LiveAccount>({
      record: { kind: 'account', id: accountId },
      row,
      isRepeating,
      readRow: async () => (await this.rows.accounts([accountId]))[0],
      readLive: () => this.records.getAccount(accountId).catch(foreign),
      discard: () => this.records.discard(accountId),
    });
  }

  private async checkRecord<Row extends LiveKey | LiveAccount>(
    compared: Compared<Row>,
  ): Promise<string[]> {
    const { record, row, readRow, readLive, discard, isRepeating } = compared;
    const live = await readLive();
    if (live === null || isDeepStrictEqual(live, row)) return [];
    // The row may have changed, and been written, since it was read.
    const again = await readRow();
    if (!again || isDeepStrictEqual(live, again)) return [];
    if (isOlder(live, again)) {
      if (isRepeating || !(await this.isLeftBehind({ ...compared, row: again }))) return [];
      await this.writer.write(record);
      return [`the live record of ${record.kind} ${record.id} is older than its row`];
    }
    await discard();
    await this.writer.write(record);
    return [`the live record of ${record.kind} ${record.id} was altered`];
  }

  /**
   * Returns whether an older record is not just waiting for its write. A change is promised in the transaction of its row, and the promise is removed
   * after its write; without a promise, the next read contains the write.
   */
  private async isLeftBehind<Row extends LiveKey | LiveAccount>({
    record,
    row,
    readLive,
  }: Compared<Row>): Promise<boolean> {
    if (await isWritePromised(this.dataSource, record)) return false;
    const live = await readLive();
    return live !== null && isOlder(live, row);
  }
}

interface Compared<Row> {
  readonly record: LiveRecord & { kind: 'key' | 'account' };
  readonly row: Row;
  readonly isRepeating: boolean;
  readonly readRow: () => Promise<Row | undefined>;
  readonly readLive: () => Promise<Row | typeof UNREADABLE | null>;
  readonly discard: () => Promise<unknown>;
}

function toLiveKey({ ipAllowlist, ...row }: KeyLiveRow): LiveKey {
  return { ...row, allowlist: normaliseAllowlist(ipAllowlist) };
}

/** Handles a record that cannot be read: it was altered, and must not stop the check of the others. */
function foreign(error: unknown): typeof UNREADABLE {
  if (isUnreadable(error)) return UNREADABLE;
  throw error;
}

function isOlder<Row extends LiveKey | LiveAccount>(
  live: Row | typeof UNREADABLE,
  row: Row,
): boolean {
  return live !== UNREADABLE && live.revision < row.revision;
}
