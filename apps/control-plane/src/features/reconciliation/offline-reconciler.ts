import {
  EpochCache,
  Epochs,
  FleetStore,
  FunctionLibrary,
  KeyTypes,
  LiveCounts,
  LiveRecords,
  LostWithdrawals,
  MeteringStore,
  ReapedRequests,
  type RedisConnection,
} from '@tollgate/keyspace';
import type { DataSource } from 'typeorm';
import type { Config } from '../../config.ts';
import { DomainEvents } from '../../platform/domain-events/domain-events.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { QueueBacklog } from '../../platform/queues/queue-backlog.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { BookedWithdrawals } from '../live-state/booked-withdrawals.sql.ts';
import { LiveRecordWriter } from '../live-state/live-record-writer.ts';
import { LiveRows } from '../live-state/live-rows.sql.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { TokenLedger } from '../subscriptions/token-ledger.service.ts';
import { AlteredCounts } from './altered-counts.ts';
import { BalanceRepairs } from './balance-repairs.ts';
import { LostReaps } from './lost-reaps.ts';
import { Reconciler } from './reconciler.service.ts';
import { UsageArrival } from './usage-arrival.ts';
import { WrongTypes } from './wrong-types.ts';

type OfflineConfig = Pick<Config, 'SHARDS' | 'REDIS_URL' | 'REDIS_QUEUE_URL' | 'ALERT_WEBHOOK_URL'>;

/**
 * Compares single subscriptions without a running control plane, for the administrators' program. Credits that it gives wait in PostgreSQL until a
 * control plane writes them to Redis. Call `end` after the last comparison.
 */
export function offlineReconciler(
  dataSource: DataSource,
  redis: RedisConnection,
  config: OfflineConfig,
): Pick<Reconciler, 'compare'> & { end: () => void } {
  const parts = keyspaceOf(redis, config);
  const records = new LiveRecords(parts);
  const writer = openWriter(dataSource, parts, new DomainEvents());
  const transactions = new Transactions(dataSource);
  const tokens = new TokenLedger();
  const alerts = new AlertsService(dataSource, config);
  const live = new LiveStateService({ deliver: () => Promise.resolve() });
  const backlog = new QueueBacklog(config);
  const arrival = new UsageArrival(records, backlog);
  const reconciler = new Reconciler(
    dataSource,
    records,
    arrival,
    new LostReaps(dataSource, new ReapedRequests(parts), arrival, alerts, config),
    new AlteredCounts(
      dataSource,
      transactions,
      records,
      new LiveCounts(parts),
      writer,
      tokens,
      alerts,
    ),
    new BalanceRepairs(dataSource, transactions, tokens, live, alerts),
    new WrongTypes(dataSource, new KeyTypes(parts), writer, alerts),
  );
  return {
    compare: (subscription) => reconciler.compare(subscription),
    end: () => backlog.onApplicationShutdown(),
  };
}

type Keyspace = ConstructorParameters<typeof LiveRecords>[0];

export function keyspaceOf(
  redis: RedisConnection,
  { SHARDS: shards }: { SHARDS: number },
): Keyspace {
  const library = new FunctionLibrary(redis);
  return { redis, library, epochs: new EpochCache(new Epochs(redis, library)), shards };
}

export function openWriter(
  dataSource: DataSource,
  parts: Keyspace,
  events: DomainEvents,
): LiveRecordWriter {
  return new LiveRecordWriter(
    new LiveRows(dataSource),
    new LiveRecords(parts),
    new MeteringStore(parts),
    new LiveCounts(parts),
    new BookedWithdrawals(dataSource, new LostWithdrawals(parts)),
    new FleetStore(parts),
    events,
  );
}
