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
import { isKeyOf } from '../keys/is-key-of.ts';
import { LiveRecordWriter } from './live-record-writer.ts';
import { LiveRows, type KeyLiveRow } from './live-rows.ts';

const UNREADABLE = 'unreadable';

/** Who used what, as a final says. */
export interface KeyUse {
  accountId: number;
  keyId: number;
  /** Undefined in finals of an earlier release. */
  keyHash: string | undefined;
}

/**
 * Compares live records of keys and accounts with their rows when they are used. Only the control plane writes them, each change with a higher
 * revision: a record of its row's revision that differs, one of a higher revision, and a key without a row were altered in Redis.
 * They are removed and rewritten. A lower revision is a write that is on its way.
 */
@Injectable()
export class LiveRecordAudit {
  constructor(
    private readonly dataSource: DataSource,
    private readonly rows: LiveRows,
    private readonly records: LiveRecords,
    private readonly writer: LiveRecordWriter,
  ) {}

  /** A sentence for each record that was altered. */
  async check(uses: readonly KeyUse[]): Promise<string[]> {
    const keyRows = new Map(
      (await this.rows.keys([...new Set(uses.map(({ keyId }) => keyId))])).map((row) => [
        row.id,
        row,
      ]),
    );
    const found: string[] = [];
    for (const use of uses) found.push(...(await this.checkKey(use, keyRows.get(use.keyId))));
    const accountIds = [...new Set(uses.map(({ accountId }) => accountId))];
    for (const row of await this.rows.accounts(accountIds))
      found.push(...(await this.checkAccount(row)));
    return found;
  }

  private async checkKey(use: KeyUse, row: KeyLiveRow | undefined): Promise<string[]> {
    const { accountId, keyId, keyHash } = use;
    const isRow = row?.accountId === accountId && (keyHash ?? row.keyHash) === row.keyHash;
    if (!isRow) return keyHash === undefined ? [] : this.removeUnknown(use, keyHash);
    const live = await this.records.getKey(accountId, row.keyHash).catch(foreign);
    if (live === null || !isAltered(live, toLiveKey(row))) return [];
    // The row may have been changed, and written, since it was read.
    const [again] = await this.rows.keys([keyId]);
    if (!again || !isAltered(live, toLiveKey(again))) return [];
    await this.records.discard(accountId, row.keyHash);
    await this.writer.write({ kind: 'key', id: keyId });
    return [`the live record of key ${keyId} was altered`];
  }

  private async removeUnknown({ accountId, keyId }: KeyUse, keyHash: string): Promise<string[]> {
    if (!(await isKeyOf(this.dataSource, { keyHash, userId: accountId })))
      await this.records.discard(accountId, keyHash);
    return [`a key of account ${accountId} was used that is not key ${keyId}, as Redis said`];
  }

  private async checkAccount(row: LiveAccount): Promise<string[]> {
    const { accountId } = row;
    const live = await this.records.getAccount(accountId).catch(foreign);
    if (live === null || !isAltered(live, row)) return [];
    const [again] = await this.rows.accounts([accountId]);
    if (!again || !isAltered(live, again)) return [];
    await this.records.discard(accountId);
    await this.writer.write({ kind: 'account', id: accountId });
    return [`the live record of account ${accountId} was altered`];
  }
}

function toLiveKey({ ipAllowlist, ...row }: KeyLiveRow): LiveKey {
  return { ...row, allowlist: normaliseAllowlist(ipAllowlist) };
}

/** For a read of a record: one that cannot be read was altered, and must not stop the look at the others. */
function foreign(error: unknown): typeof UNREADABLE {
  if (isUnreadable(error)) return UNREADABLE;
  throw error;
}

function isAltered<Row extends LiveKey | LiveAccount>(
  live: Row | typeof UNREADABLE,
  row: Row,
): boolean {
  if (live === UNREADABLE) return true;
  if (live.revision !== row.revision) return live.revision > row.revision;
  return !isDeepStrictEqual(live, row);
}
