import { Injectable, Logger } from '@nestjs/common';
import { KeyTypes, type WrongKey } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { AlertsService } from '../alerts/alerts.service.ts';
import { LiveRecordWriter } from '../live-state/live-record-writer.ts';
import type { Subscription } from './altered-counts.ts';

const FORGERY = { rule: 'redis_tampered', subject: 'key types' } as const;

/**
 * Removes keys of a type that Tollgate does not write, at which every function fails, so that their accounts or shards are served again: records are
 * rewritten from their rows, what a shard held there is repeated by its nodes or counted again, a shard without its epoch is filled again.
 */
@Injectable()
export class WrongTypes {
  private readonly logger = new Logger('reconciliation');

  constructor(
    private readonly dataSource: DataSource,
    private readonly types: KeyTypes,
    private readonly writer: LiveRecordWriter,
    private readonly alerts: AlertsService,
  ) {}

  async repairShards(): Promise<void> {
    const found = await this.types.wrongOfShards();
    for (const key of found) await this.types.remove(key);
    await this.tell(found);
  }

  async repairAccounts(page: readonly Subscription[]): Promise<void> {
    const found = await this.types.wrongOf(page);
    if (found.length === 0) return;
    for (const key of found) await this.types.remove(key);
    const accounts = new Set(found.map(({ accountId }) => accountId));
    for (const { id, accountId } of page.filter((one) => accounts.has(one.accountId))) {
      await this.writer.write({ kind: 'account', id: accountId });
      await this.writer.write({ kind: 'subscription', id });
    }
    await this.tell(found);
  }

  private async tell(found: readonly WrongKey[]): Promise<void> {
    if (found.length === 0) return;
    const names = found.map(({ name }) => name);
    const message = `Redis contained keys of a type that Tollgate does not write: ${names.slice(0, 10).join(', ')}; they are removed and written again`;
    this.logger.error(message);
    const detail = { kind: 'types', keys: names } as const;
    await this.alerts.raise(this.dataSource.manager, { ...FORGERY, message, detail });
  }
}
