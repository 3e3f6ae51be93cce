import type { AlertsService } from '../../../../apps/control-plane/src/features/alerts/alerts.service.ts';
import { BudgetBooking } from '../../../../apps/control-plane/src/features/budgets/budget-booking.sql.ts';
import { BookedFacts } from '../../../../apps/control-plane/src/features/usage/ingest/booked-facts.ts';
import { EventEmitter } from 'node:events';
import {
  shardOf,
  type FleetStore,
  type LiveCounts,
  type LiveRecords,
  type LostWithdrawals,
  type MeteringStore,
  type RedisConnection,
} from '@tollgate/keyspace';
import { ShardEpochs } from '../../../../apps/control-plane/src/features/epochs/shard-epochs.sql.ts';
import { BookedWithdrawals } from '../../../../apps/control-plane/src/features/live-state/booked-withdrawals.sql.ts';
import { LiveRecordWriter } from '../../../../apps/control-plane/src/features/live-state/live-record-writer.ts';
import { LiveRows } from '../../../../apps/control-plane/src/features/live-state/live-rows.sql.ts';
import { LiveStatePump } from '../../../../apps/control-plane/src/features/live-state/live-state-pump.ts';
import { LiveStateService } from '../../../../apps/control-plane/src/features/live-state/live-state.service.ts';
import { LostTail } from '../../../../apps/control-plane/src/features/live-state/lost-tail.ts';
import { PricesInForce } from '../../../../apps/control-plane/src/features/models/prices-in-force.service.ts';
import { AutoRechargeService } from '../../../../apps/control-plane/src/features/subscriptions/auto-recharge/auto-recharge.service.ts';
import { TokenLedger } from '../../../../apps/control-plane/src/features/subscriptions/token-ledger.service.ts';
import { WithdrawalBooking } from '../../../../apps/control-plane/src/features/subscriptions/withdrawal-booking.sql.ts';
import { DroppedDays } from '../../../../apps/control-plane/src/features/usage/ingest/dropped-days.sql.ts';
import { DroppedTelemetry } from '../../../../apps/control-plane/src/features/usage/ingest/dropped-telemetry.ts';
import { EventJudge } from '../../../../apps/control-plane/src/features/usage/ingest/event-judge.ts';
import { KnownFacts } from '../../../../apps/control-plane/src/features/usage/ingest/known-facts.ts';
import { KnownWithdrawals } from '../../../../apps/control-plane/src/features/usage/ingest/known-withdrawals.sql.ts';
import { LateUsage } from '../../../../apps/control-plane/src/features/usage/ingest/late-usage.sql.ts';
import { UsageRows } from '../../../../apps/control-plane/src/features/usage/ingest/usage-rows.sql.ts';
import { UsageIngest } from '../../../../apps/control-plane/src/features/usage/ingest/usage-ingest.service.ts';
import { LedgerService } from '../../../../apps/control-plane/src/features/wallet/ledger.service.ts';
import { DomainEvents } from '../../../../apps/control-plane/src/platform/domain-events/domain-events.ts';
import { Transactions } from '../../../../apps/control-plane/src/platform/database/transactions.ts';
import { Host } from '../../../../apps/control-plane/src/platform/host/host.ts';
import { Random } from '../random.ts';
import { openRecharge } from '../recharge.ts';
import { recorded, type Answer } from './recorded.ts';

export const SHARDS = 2;

/** Takes clock and random names from the sequence. */
class SequenceHost extends Host {
  private readonly random: Random;

  constructor(
    private readonly now: () => number,
    seed: number,
  ) {
    super();
    this.random = new Random(seed, 'names');
  }
  override unixMs(): number {
    return this.now();
  }
  override monotonicMs(): number {
    return this.now();
  }
  override after(): () => void {
    return () => undefined;
  }
  override uuid(): string {
    return this.random.uuidV7(this.now());
  }
}

interface SideParts {
  source: ConstructorParameters<typeof Transactions>[0];
  seed: number;
  now: () => number;
}

/** Batches of the model are small. */
const COPIED_MIN = 2;

/** Opens the services that ask PostgreSQL in a simulation, as they are shipped, over one of the two databases. The sequence determines the answers of Redis. */
export function openSide({ source, seed, now }: SideParts) {
  const answers: Answer[] = [];
  const redis = { isBehind: false, live: { balance: 0, held: 0, creditSeq: 0 } };
  const host = new SequenceHost(now, seed);
  const dataSource = recorded(source, answers);
  const transactions = new Transactions(dataSource);
  const rows = new LiveRows(dataSource);
  const applied = (): Promise<unknown> => Promise.resolve({ kind: 'applied', balance: 0 });
  const records = {
    putAccount: applied,
    putKey: applied,
    putSubscription: () => {
      const creditSeq = redis.isBehind ? 0 : 1;
      redis.isBehind = false;
      return Promise.resolve({ kind: 'applied', creditSeq });
    },
    getBalances: (refs: readonly object[]) =>
      Promise.resolve(refs.map((ref) => ({ ...ref, ...redis.live }))),
  };
  const metering = {
    credit: applied,
    shardOf: (accountId: number) => shardOf(accountId, SHARDS),
    withdraw: () => Promise.resolve({ kind: 'duplicate', tokens: 0 }),
  };
  const counts = { recountHolds: () => Promise.resolve({ subscriptions: [], budgets: [] }) };
  const lost = { repeatWithdrawal: applied, repeatRelease: applied };
  const fleet = { announce: () => Promise.resolve() } as unknown as FleetStore;
  const events = new DomainEvents();
  const writer = new LiveRecordWriter(
    rows,
    records as unknown as LiveRecords,
    metering as unknown as MeteringStore,
    counts as unknown as LiveCounts,
    new BookedWithdrawals(dataSource, lost as unknown as LostWithdrawals),
    fleet,
    events,
  );
  const pump = new LiveStatePump(transactions, writer);
  // The promised writes wait for a sweep.
  const live = new LiveStateService({ deliver: () => Promise.resolve() }, host);
  const tokens = new TokenLedger();
  const epochs = new ShardEpochs(dataSource, { SHARDS });
  const ledger = new LedgerService(events);
  const days = new DroppedDays(host);
  const alerts = {
    raise: () => Promise.resolve(),
    resolve: () => Promise.resolve(),
  } as unknown as AlertsService;
  const ingest = new UsageIngest(
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
    new LateUsage(epochs, tokens, live),
    new UsageRows({ copiedMin: COPIED_MIN }),
    host,
  );
  const recharge = openRecharge((...parts) => new AutoRechargeService(...parts), {
    ...{ dataSource, transactions, tokens, ledger, live, host, prices: new PricesInForce() },
    records: records as unknown as LiveRecords,
    alerts,
  });
  return {
    answers,
    redis,
    dataSource,
    transactions,
    rows,
    writer,
    pump,
    live,
    tokens,
    epochs,
    days,
    ingest,
    recharge,
    host,
  };
}
export type Side = ReturnType<typeof openSide>;

/** Redis has come back to a process that was just started; resolves when what it may have lost was written again. */
export function redisReturned({ transactions, pump, host }: Side): Promise<void> {
  const connection = Object.assign(new EventEmitter(), { status: 'ready' });
  return new Promise((resolve) => {
    const waited = {
      deliver: (...parts: Parameters<LiveStatePump['deliver']>) =>
        pump.deliver(...parts).then(() => resolve()),
    };
    void new LostTail(
      connection as unknown as RedisConnection,
      transactions,
      waited as unknown as LiveStatePump,
      host,
    ).onApplicationBootstrap();
  });
}
