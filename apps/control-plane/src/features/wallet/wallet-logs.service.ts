import { Injectable, type StreamableFile } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository, SelectQueryBuilder } from 'typeorm';
import { AccountScope } from '../../platform/access/account-scope.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { csvFile, type CsvCell } from '../../platform/http/csv.ts';
import { readPage, type Page } from '../../platform/http/list-query.ts';
import { nameRecords, type RecordRef } from '../names/record-names.sql.ts';
import { LedgerAccount, LedgerEntry } from './ledger.entity.ts';
import { toWalletLogResponse, type WalletLogResponse, type WalletLogsQuery } from './wallet.dto.ts';

const EXPORT_BATCH = 1_000;
const SORT_COLUMNS = {
  id: 'entry.id',
  created_at: 'transaction.createdAt',
  amount: 'entry.amount',
};
const CSV_COLUMNS = [
  'id',
  'transaction_id',
  'created_at',
  'kind',
  'amount',
  'balance_after',
  'reference',
  'note',
  'actor_role',
  'actor_user_id',
  'actor_name',
  'model',
] as const;

/** Returns the models whose tokens moved with the money, by the references of the movements, because the ledger knows no models. */
type ModelsOfReferences = (
  userId: number,
  references: readonly string[],
) => Promise<ReadonlyMap<string, { id: number; name: string }>>;

@Injectable()
export class WalletLogsService {
  constructor(
    @InjectRepository(LedgerEntry) private readonly entries: Repository<LedgerEntry>,
    private readonly scope: AccountScope,
  ) {}

  async list(
    caller: Caller,
    query: WalletLogsQuery,
    modelsOf: ModelsOfReferences,
  ): Promise<Page<WalletLogResponse> | StreamableFile> {
    const userId = await this.scope.resolve(caller, query.user_id);
    const view = { caller, userId, modelsOf };
    if (query.format === 'csv')
      return csvFile(`wallet-${userId}`, [...CSV_COLUMNS], this.rows(view, query));
    const { data, ...page } = await readPage(this.matching(userId, query), query, {
      columns: SORT_COLUMNS,
      search: ['transaction.note', 'transaction.reference'],
      map: (row) => row,
    });
    return { data: await this.described(view, data), ...page };
  }

  private matching(userId: number, query: WalletLogsQuery): SelectQueryBuilder<LedgerEntry> {
    const builder = this.entries
      .createQueryBuilder('entry')
      .innerJoinAndSelect('entry.transaction', 'transaction')
      .innerJoin(LedgerAccount, 'account', 'account.id = entry.ledgerAccountId')
      .where('account.userId = :userId', { userId });
    if (query.kind !== undefined)
      builder.andWhere('transaction.kind = :kind', { kind: query.kind });
    if (query.from !== undefined)
      builder.andWhere('transaction.createdAt >= :from', { from: query.from });
    if (query.to !== undefined) builder.andWhere('transaction.createdAt < :to', { to: query.to });
    return builder;
  }

  /** Yields rows newest first, in batches by id, so that an export holds neither a long transaction nor all rows. */
  private async *rows(view: View, query: WalletLogsQuery): AsyncGenerator<CsvCell[]> {
    for (let beforeId: number | undefined; ;) {
      const builder = this.matching(view.userId, query)
        .orderBy('entry.id', 'DESC')
        .take(EXPORT_BATCH);
      if (beforeId !== undefined) builder.andWhere('entry.id < :beforeId', { beforeId });
      const rows = await builder.getMany();
      for (const response of await this.described(view, rows))
        yield CSV_COLUMNS.map((column) => response[column]);
      beforeId = rows.at(-1)?.id;
      if (rows.length < EXPORT_BATCH) return;
    }
  }

  private async described(
    { caller, userId, modelsOf }: View,
    rows: readonly LedgerEntry[],
  ): Promise<WalletLogResponse[]> {
    const isAdministrator = caller.role === 'admin';
    const actors = rows.map(({ transaction: { actorUserId: id } }) => refOf(id));
    const nameOf = await nameRecords(this.entries.manager, isAdministrator ? actors : []);
    const models = await modelsOf(
      userId,
      rows.map(({ transaction: { reference } }) => reference),
    );
    return rows.map((row) => {
      const { reference, actorUserId: id } = row.transaction;
      const isOwner = id === userId;
      return toWalletLogResponse(row, {
        model: models.get(reference),
        actor: {
          actor_role: id === null ? 'system' : isOwner ? 'owner' : 'administrator',
          actor_user_id: isAdministrator || isOwner ? id : null,
          actor_name: nameOf(refOf(id)).name,
        },
      });
    });
  }
}

/** Names the owner of the entries, and the reader. */
interface View {
  caller: Caller;
  userId: number;
  modelsOf: ModelsOfReferences;
}

function refOf(userId: number | null): RecordRef {
  return { kind: 'user', id: userId === null ? null : String(userId) };
}
