import type { RedisConnection } from '@tollgate/keyspace';
import type { DataSource } from 'typeorm';
import type { Config } from '../../../config.ts';
import { Transactions } from '../../../platform/database/transactions.ts';
import { DomainEvents } from '../../../platform/domain-events/domain-events.ts';
import { AlertsService } from '../../alerts/alerts.service.ts';
import { BudgetBooking } from '../../budgets/budget-booking.sql.ts';
import { ShardEpochs } from '../../epochs/shard-epochs.sql.ts';
import { LiveStatePump } from '../../live-state/live-state-pump.ts';
import { LiveStateService } from '../../live-state/live-state.service.ts';
import { keyspaceOf, openWriter } from '../../reconciliation/offline-reconciler.ts';
import { TokenLedger } from '../../subscriptions/token-ledger.service.ts';
import { WithdrawalBooking } from '../../subscriptions/withdrawal-booking.sql.ts';
import { LedgerService } from '../../wallet/ledger.service.ts';
import { BookedFacts } from './booked-facts.ts';
import { BookedAtOnce } from './booked-at-once.ts';
import { DroppedDays } from './dropped-days.sql.ts';
import { DroppedTelemetry } from './dropped-telemetry.ts';
import { EventJudge } from './event-judge.ts';
import { KnownFacts } from './known-facts.ts';
import { KnownWithdrawals } from './known-withdrawals.sql.ts';
import { LateUsage } from './late-usage.sql.ts';
import { UsageIngest } from './usage-ingest.service.ts';
import { UsageRows } from './usage-rows.sql.ts';

type OfflineConfig = Pick<Config, 'SHARDS' | 'ALERT_WEBHOOK_URL'>;

/** Books without a running control plane, for the administrators' program. Writes to Redis wait in PostgreSQL. */
export function offlineIngest(dataSource: DataSource, config: OfflineConfig): UsageIngest {
  const tokens = new TokenLedger();
  const alerts = new AlertsService(dataSource, config);
  const live = new LiveStateService({ deliver: () => Promise.resolve() });
  return new UsageIngest(
    new Transactions(dataSource),
    new EventJudge(
      new KnownFacts(dataSource),
      new KnownWithdrawals(dataSource),
      new DroppedTelemetry(),
      new DroppedDays(),
    ),
    tokens,
    new WithdrawalBooking(tokens, new LedgerService(new DomainEvents())),
    new BookedFacts(alerts, new BudgetBooking(alerts, live, { used: () => undefined })),
    new LateUsage(new ShardEpochs(dataSource, config), tokens, live),
    new UsageRows(),
  );
}

/** Sends the waiting writes to Redis, and books what they withdraw, as a control plane does when it starts. */
export async function carryOutPromises(
  dataSource: DataSource,
  redis: RedisConnection,
  config: OfflineConfig,
): Promise<void> {
  const events = new DomainEvents();
  const ingest = offlineIngest(dataSource, config);
  void new BookedAtOnce({ process: async (usage) => void (await ingest.ingest(usage)) }, events);
  const writer = openWriter(dataSource, keyspaceOf(redis, config), events);
  await new LiveStatePump(new Transactions(dataSource), writer).sweep();
}
