import type { DataSource } from 'typeorm';
import type { Config } from '../../../config.ts';
import { Transactions } from '../../../platform/database/transactions.ts';
import { ActivityService } from '../../activity/activity.service.ts';
import { AlertsService } from '../../alerts/alerts.service.ts';
import type { Reconciler } from '../../reconciliation/reconciler.service.ts';
import { offlineIngest } from '../ingest/offline-ingest.ts';
import { DeadLetterRow } from './dead-letter.entity.ts';
import { DeadLettersService } from './dead-letters.service.ts';

/** Lists the entities that a data source needs for this service. */
export const DEAD_LETTER_ENTITIES = [DeadLetterRow];

/**
 * Makes the service without a running control plane, for the administrators' program. Writes to Redis wait in PostgreSQL until a control plane sends
 * them. `balances` is the running service's, or null for commands that book nothing.
 */
export function offlineDeadLetters(
  dataSource: DataSource,
  config: Pick<Config, 'SHARDS' | 'ALERT_WEBHOOK_URL'>,
  balances: Pick<Reconciler, 'compare'> | null,
): DeadLettersService {
  return new DeadLettersService(
    dataSource,
    new Transactions(dataSource),
    offlineIngest(dataSource, config),
    new AlertsService(dataSource, config),
    new ActivityService(dataSource),
    balances ?? { compare: () => Promise.resolve(false) },
  );
}
