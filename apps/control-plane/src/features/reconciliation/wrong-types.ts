import { Injectable, Logger, Optional } from '@nestjs/common';
import { KeyTypes, type WrongKey } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { Host } from '../../platform/host/host.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { LiveRecordWriter } from '../live-state/live-record-writer.ts';
import type { Subscription } from './altered-counts.ts';

const FORGERY = { rule: 'redis_tampered', subject: 'key types' } as const;
/** The alert closes after this long without such a key. */
const ALERTED_MS = 3_600_000;

/**
 * Removes keys of a type that Tollgate does not write, at which every function fails, so that their accounts or shards are served again: records are
 * rewritten from their rows, what a shard held there is repeated by its nodes or counted again, a shard without its epoch is filled again.
 */
@Injectable()
export class WrongTypes {
  private readonly logger = new Logger('reconciliation');
  /** An earlier process may have raised the alert just before its end. */
  private foundAtMs: number | null;

  constructor(
    private readonly dataSource: DataSource,
    private readonly types: KeyTypes,
    private readonly writer: LiveRecordWriter,
    private readonly alerts: AlertsService,
    @Optional() private readonly host: Host = new Host(),
  ) {
    this.foundAtMs = host.monotonicMs();
  }

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
    const { manager } = this.dataSource;
    if (found.length > 0) {
      this.foundAtMs = this.host.monotonicMs();
      const names = found.map(({ name }) => name);
      const message = `Redis contained keys of a type that Tollgate does not write: ${names.slice(0, 10).join(', ')}; they are removed and written again`;
      this.logger.error(message);
      await this.alerts.raise(manager, {
        ...FORGERY,
        message,
        detail: { kind: 'types', keys: names },
      });
    } else if (this.foundAtMs !== null && this.host.monotonicMs() - this.foundAtMs > ALERTED_MS) {
      this.foundAtMs = null;
      await this.alerts.resolve(manager, FORGERY);
    }
  }
}
