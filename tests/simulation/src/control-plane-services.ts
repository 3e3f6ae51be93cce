import type { AlertsService } from '../../../apps/control-plane/src/features/alerts/alerts.service.ts';
import { BudgetBooking } from '../../../apps/control-plane/src/features/budgets/budget-booking.sql.ts';
import { BookedFacts } from '../../../apps/control-plane/src/features/usage/ingest/booked-facts.ts';
import type { FleetStore, RedisConnection } from '@tollgate/keyspace';
import { EpochsService } from '../../../apps/control-plane/src/features/epochs/epochs.service.ts';
import { ShardEpochs } from '../../../apps/control-plane/src/features/epochs/shard-epochs.sql.ts';
import { ShardFiller } from '../../../apps/control-plane/src/features/epochs/shard-filler.ts';
import { ShardOpening } from '../../../apps/control-plane/src/features/epochs/shard-opening.ts';
import { LiveRebuildService } from '../../../apps/control-plane/src/features/live-state/live-rebuild.service.ts';
import { LiveRecordWriter } from '../../../apps/control-plane/src/features/live-state/live-record-writer.ts';
import { LiveRows } from '../../../apps/control-plane/src/features/live-state/live-rows.sql.ts';
import { LiveStatePump } from '../../../apps/control-plane/src/features/live-state/live-state-pump.ts';
import { LiveStateService } from '../../../apps/control-plane/src/features/live-state/live-state.service.ts';
import { LostTail } from '../../../apps/control-plane/src/features/live-state/lost-tail.ts';
import { AlteredCounts } from '../../../apps/control-plane/src/features/reconciliation/altered-counts.ts';
import { BalanceRepairs } from '../../../apps/control-plane/src/features/reconciliation/balance-repairs.ts';
import { ClosedBalances } from '../../../apps/control-plane/src/features/reconciliation/closed-balances.ts';
import { Reconciler } from '../../../apps/control-plane/src/features/reconciliation/reconciler.service.ts';
import { UsageArrival } from '../../../apps/control-plane/src/features/reconciliation/usage-arrival.ts';
import { AutoRechargeTriggers } from '../../../apps/control-plane/src/features/subscriptions/auto-recharge/auto-recharge-triggers.ts';
import { TokenLedger } from '../../../apps/control-plane/src/features/subscriptions/token-ledger.service.ts';
import { WithdrawalBooking } from '../../../apps/control-plane/src/features/subscriptions/withdrawal-booking.sql.ts';
import { BookedAtOnce } from '../../../apps/control-plane/src/features/usage/ingest/booked-at-once.ts';
import { DroppedTelemetry } from '../../../apps/control-plane/src/features/usage/ingest/dropped-telemetry.ts';
import { EventJudge } from '../../../apps/control-plane/src/features/usage/ingest/event-judge.ts';
import { KnownFacts } from '../../../apps/control-plane/src/features/usage/ingest/known-facts.ts';
import { KnownWithdrawals } from '../../../apps/control-plane/src/features/usage/ingest/known-withdrawals.sql.ts';
import { LateUsage } from '../../../apps/control-plane/src/features/usage/ingest/late-usage.sql.ts';
import type { UsageWorker } from '../../../apps/control-plane/src/features/usage/ingest/usage-worker.ts';
import { UsageRows } from '../../../apps/control-plane/src/features/usage/ingest/usage-rows.sql.ts';
import { JournalService } from '../../../apps/control-plane/src/features/usage/journal/journal.service.ts';
import { LedgerService } from '../../../apps/control-plane/src/features/wallet/ledger.service.ts';
import { Transactions } from '../../../apps/control-plane/src/platform/database/transactions.ts';
import { DomainEvents } from '../../../apps/control-plane/src/platform/domain-events/domain-events.ts';
import type { Host } from '../../../apps/control-plane/src/platform/host/host.ts';
import type { ControlPlaneWorld } from './control-plane-parts.ts';
import { CREDENTIAL } from './credential.ts';
import type { Link } from './link.ts';
import { dataSourceOver } from './postgres/data-source.ts';
import { openPurchases, openRecharge } from './recharge.ts';
import { openSales } from './sales.ts';
import { redisClient } from './redis/redis-client.ts';
import type { UsageJobs } from './usage-jobs.ts';

/** Batches of the simulation are small. */
const COPIED_MIN = 2;

type JournalParts = ConstructorParameters<typeof JournalService>;
type WorkerParts = ConstructorParameters<typeof UsageWorker>;
type ArrivalParts = ConstructorParameters<typeof UsageArrival>;

export interface ServiceParts {
  world: ControlPlaneWorld;
  host: Host;
  redisLink: Link;
  postgresLink: Link;
  jobs: UsageJobs;
}

/** Only the functions write keys here. */
const RIGHT_TYPES = {
  repairShards: () => Promise.resolve(),
  repairAccounts: () => Promise.resolve(),
};
/** The reconciliation is left to find what differs. */
const UNCOMPARED = { used: () => undefined } as unknown as WorkerParts[2];
const NO_FIGURES = { note: () => undefined } as unknown as WorkerParts[6];
const NO_TRACES = { now: () => 0, note: () => undefined } as unknown as WorkerParts[7];
const NO_ALERTS = { raise: () => Promise.resolve(), resolve: () => Promise.resolve() };

/** Opens the services of a control plane as they are shipped, on the models. */
export function openServices({ world, host, redisLink, postgresLink, jobs }: ServiceParts) {
  const { redis, postgres, shards, parts } = world;
  const alerts = NO_ALERTS as unknown as AlertsService;
  const client = redisClient(redis, redisLink);
  const { metering, records, filler, reaped, lost, counts, epochs: epochsOfRedis } = client;
  const dataSource = dataSourceOver(postgres, postgresLink);
  const transactions = new Transactions(dataSource);
  const config = { SHARDS: shards } as ConstructorParameters<typeof LiveRebuildService>[2];
  const rows = new LiveRows(dataSource);
  const fleet = {
    announce: (word: Parameters<FleetStore['announce']>[0]) =>
      redisLink.call('announce', () => world.announce(word)),
  } as unknown as FleetStore;
  const events = new DomainEvents();
  const writer = new LiveRecordWriter(
    rows,
    records,
    metering,
    counts,
    parts.bookedWithdrawals(dataSource, lost),
    fleet,
    events,
  );
  const pump = new LiveStatePump(transactions, writer);
  const live = new LiveStateService(pump, host);
  const shardEpochs = new ShardEpochs(dataSource, { SHARDS: shards });
  const tokens = new TokenLedger();
  const ledger = new LedgerService(events);
  const days = parts.droppedDays(host);
  const ingest = parts.ingest(
    transactions,
    new EventJudge(
      new KnownFacts(dataSource),
      new KnownWithdrawals(dataSource),
      new DroppedTelemetry(),
      days,
    ),
    tokens,
    new WithdrawalBooking(tokens, ledger),
    new BookedFacts(alerts, new BudgetBooking(alerts, live, { used: () => undefined })),
    new LateUsage(shardEpochs, tokens, live),
    new UsageRows({ copiedMin: COPIED_MIN }),
    host,
  );
  const journal = new JournalService(
    { isUploadProven: () => Promise.resolve(true) } as unknown as JournalParts[0],
    shardEpochs,
    ingest,
    NO_FIGURES,
    host,
  );
  const proofs = parts.proofs(dataSource, alerts, { FLEET_CREDENTIAL: CREDENTIAL }, host);
  const shardFiller = new ShardFiller(new LiveRebuildService(rows, filler, config), reaped, events);
  const epochs = new EpochsService(
    dataSource,
    epochsOfRedis,
    parts.comparedEpochs(epochsOfRedis, shardEpochs),
    shardFiller,
    new ShardOpening(epochsOfRedis, fleet, host),
    alerts,
    { SHARDS: shards },
    host,
  );
  const prices = parts.prices();
  const needs = { dataSource, transactions, records, tokens, ledger, alerts, live, host, prices };
  const recharge = openRecharge(parts.recharge, needs);
  void new AutoRechargeTriggers(recharge, events);
  const worker = parts.worker(
    jobs as unknown as WorkerParts[0],
    proofs,
    UNCOMPARED,
    ingest,
    jobs as unknown as WorkerParts[4],
    recharge,
    NO_FIGURES,
    NO_TRACES,
  );
  worker.onModuleInit();
  void new BookedAtOnce(worker, events);
  const purchases = openPurchases(needs);
  const sales = openSales({ ...needs, purchases, recharge, parts });
  const closed = new ClosedBalances(
    dataSource,
    records,
    sales.withdrawals,
    purchases,
    transactions,
  );
  const backlog = {
    undone: () => jobs.undone(),
    areDone: async (_queue: string, ids: ReadonlySet<string>) => {
      const undone = await jobs.undone();
      return [...ids].every((id) => !undone.has(id));
    },
  } as unknown as ArrivalParts[1];
  const arrival = new UsageArrival(records, backlog, host);
  const reconciler = new Reconciler(
    dataSource,
    records,
    arrival,
    parts.lostReaps(dataSource, reaped, arrival, alerts, config),
    new AlteredCounts(dataSource, transactions, records, counts, writer, tokens, alerts),
    new BalanceRepairs(dataSource, transactions, tokens, live, alerts),
    RIGHT_TYPES as unknown as ConstructorParameters<typeof Reconciler>[6],
    host,
  );
  const lostTail = new LostTail(redisLink as unknown as RedisConnection, transactions, pump, host);
  return {
    sales,
    transactions,
    days,
    ingest,
    proofs,
    journal,
    pump,
    epochs,
    closed,
    reconciler,
    lostTail,
    recharge,
  };
}
export type Services = ReturnType<typeof openServices>;
