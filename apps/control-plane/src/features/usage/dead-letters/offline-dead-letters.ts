import type { DataSource } from 'typeorm';
import type { Config } from '../../../config.ts';
import { Transactions } from '../../../platform/database/transactions.ts';
import { ActivityService } from '../../activity/activity.service.ts';
import { DomainEvents } from '../../../platform/domain-events/domain-events.ts';
import { ALERT_ENTITIES, offlineAlerts } from '../../alerts/offline-alerts.ts';
import { ShardEpochs } from '../../epochs/shard-epochs.ts';
import { LiveStateService } from '../../live-state/live-state.service.ts';
import type { Reconciler } from '../../reconciliation/reconciler.service.ts';
import { TokenLedger } from '../../subscriptions/token-ledger.service.ts';
import { WithdrawalBooking } from '../../subscriptions/withdrawal-booking.ts';
import { LedgerService } from '../../wallet/ledger.service.ts';
import { DroppedDays } from '../ingest/dropped-days.ts';
import { DroppedTelemetry } from '../ingest/dropped-telemetry.ts';
import { EventJudge } from '../ingest/event-judge.ts';
import { KnownFacts } from '../ingest/known-facts.ts';
import { KnownWithdrawals } from '../ingest/known-withdrawals.ts';
import { LateUsage } from '../ingest/late-usage.ts';
import { UsageIngest } from '../ingest/usage-ingest.service.ts';
import { UsageRows } from '../ingest/usage-rows.ts';
import { DeadLetterRow } from './dead-letter.entity.ts';
import { DeadLettersService } from './dead-letters.service.ts';

/** Entities that a data source needs for it. */
export const DEAD_LETTER_ENTITIES = [...ALERT_ENTITIES, DeadLetterRow];

/**
 * The service without a running control plane, for the program of administrators. What it promises to Redis waits in PostgreSQL until a control
 * plane carries it there. `balances`: as the running service has it; null for commands that book nothing.
 */
export function offlineDeadLetters(
  dataSource: DataSource,
  config: Pick<Config, 'SHARDS' | 'ALERT_WEBHOOK_URL'>,
  balances: Pick<Reconciler, 'compare'> | null,
): DeadLettersService {
  const transactions = new Transactions(dataSource);
  const tokens = new TokenLedger();
  const epochs = new ShardEpochs(dataSource, config);
  const alerts = offlineAlerts(dataSource, config);
  const live = new LiveStateService({ deliver: () => Promise.resolve() });
  const usage = new UsageIngest(
    transactions,
    new EventJudge(
      new KnownFacts(dataSource),
      new KnownWithdrawals(dataSource),
      new DroppedTelemetry(),
      new DroppedDays(),
    ),
    tokens,
    new WithdrawalBooking(tokens, new LedgerService(new DomainEvents())),
    alerts,
    new LateUsage(epochs, tokens, live),
    new UsageRows(),
  );
  return new DeadLettersService(
    dataSource,
    transactions,
    usage,
    alerts,
    new ActivityService(dataSource),
    balances ?? { compare: () => Promise.resolve(false) },
  );
}
