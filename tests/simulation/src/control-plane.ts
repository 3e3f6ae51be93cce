import type { JournalPost } from '../../../apps/proxy-node/src/usage/journal-uplink.ts';
import { JOURNAL_HEADERS, type Acknowledgement, type RelayedEvent } from '@tollgate/contracts';
import type {
  FleetStore,
  LiveRecords,
  LostWithdrawals,
  MeteringStore,
  RedisConnection,
} from '@tollgate/keyspace';
import { ShardEpochs } from '../../../apps/control-plane/src/features/epochs/shard-epochs.ts';
import { LiveRebuildService } from '../../../apps/control-plane/src/features/live-state/live-rebuild.service.ts';
import { LiveRecordWriter } from '../../../apps/control-plane/src/features/live-state/live-record-writer.ts';
import { LiveRows } from '../../../apps/control-plane/src/features/live-state/live-rows.ts';
import { LiveStatePump } from '../../../apps/control-plane/src/features/live-state/live-state-pump.ts';
import { LiveStateService } from '../../../apps/control-plane/src/features/live-state/live-state.service.ts';
import { LostTail } from '../../../apps/control-plane/src/features/live-state/lost-tail.ts';
import { ClosedBalances } from '../../../apps/control-plane/src/features/reconciliation/closed-balances.ts';
import { TokenLedger } from '../../../apps/control-plane/src/features/subscriptions/token-ledger.service.ts';
import { acknowledgementsOf } from '../../../apps/control-plane/src/features/usage/ingest/acknowledgements-of.ts';
import type { DroppedDays } from '../../../apps/control-plane/src/features/usage/ingest/dropped-days.ts';
import { DroppedTelemetry } from '../../../apps/control-plane/src/features/usage/ingest/dropped-telemetry.ts';
import { KnownFacts } from '../../../apps/control-plane/src/features/usage/ingest/known-facts.ts';
import { LateUsage } from '../../../apps/control-plane/src/features/usage/ingest/late-usage.ts';
import type { UsageIngest } from '../../../apps/control-plane/src/features/usage/ingest/usage-ingest.service.ts';
import { JournalService } from '../../../apps/control-plane/src/features/usage/journal/journal.service.ts';
import { KnownWithdrawals } from '../../../apps/control-plane/src/features/usage/ingest/known-withdrawals.ts';
import { WithdrawalBooking } from '../../../apps/control-plane/src/features/subscriptions/withdrawal-booking.ts';
import { LedgerService } from '../../../apps/control-plane/src/features/wallet/ledger.service.ts';
import { Transactions } from '../../../apps/control-plane/src/platform/database/transactions.ts';
import type { Host } from '../../../apps/control-plane/src/platform/host/host.ts';
import { Link } from './link.ts';
import type { LiveState } from './live-store.ts';
import { dataSourceOver } from './postgres/data-source.ts';
import { SimulatedHost } from './simulated-host.ts';
import { SimulatedProcess } from './process.ts';
import type { ControlPlaneWorld } from './control-plane-parts.ts';
import { takeJob } from './take-job.ts';
import { redisClient } from './redis-client.ts';

type IngestParts = ConstructorParameters<typeof UsageIngest>;
type JournalParts = ConstructorParameters<typeof JournalService>;

const TAKE_EVERY_MS = 40;
const JOB_RETRY_MS = 5_000;

/** One control plane process: the ingest, the live records and the rebuild as they are shipped, on the models. */
export class ControlPlane {
  readonly process: SimulatedProcess;
  readonly redisLink: Link;
  readonly postgresLink: Link;
  readonly transactions: Transactions;
  readonly tokens = new TokenLedger();
  readonly live: LiveStateService;
  readonly #world: ControlPlaneWorld;
  readonly #journal: JournalService;
  readonly #ingest: UsageIngest;
  readonly #pump: LiveStatePump;
  readonly #epochs: ShardEpochs;
  readonly #rebuild: LiveRebuildService;
  readonly #closed: ClosedBalances;
  readonly #host: Host;
  readonly #days: DroppedDays;
  #filling: string | null = null;
  #isSweeping = false;

  constructor(name: string, world: ControlPlaneWorld) {
    const { scheduler, random, redis, postgres, shards, parts } = world;
    this.#world = world;
    this.process = new SimulatedProcess(name, { scheduler, wallErrorMs: () => 0 });
    this.#host = new SimulatedHost(this.process, random);
    this.redisLink = new Link(this.process, { server: redis, scheduler, random });
    this.postgresLink = new Link(this.process, { server: postgres, scheduler, random });
    const client = redisClient(redis, this.redisLink, () => this.#filling);
    const dataSource = dataSourceOver(postgres, this.postgresLink);
    this.transactions = new Transactions(dataSource);
    const config = { SHARDS: shards } as ConstructorParameters<typeof LiveRebuildService>[2];
    const records = client as unknown as LiveRecords;
    const rows = new LiveRows(dataSource);
    const withdrawals = parts.bookedWithdrawals(dataSource, client as unknown as LostWithdrawals);
    const fleet = { announce: () => Promise.resolve() } as unknown as FleetStore;
    const writer = new LiveRecordWriter(
      rows,
      records,
      client as unknown as MeteringStore,
      dataSource,
      withdrawals,
      fleet,
    );
    this.#pump = new LiveStatePump(this.transactions, writer);
    this.live = new LiveStateService(this.#pump, this.#host);
    this.#epochs = new ShardEpochs(dataSource, { SHARDS: shards });
    this.#rebuild = new LiveRebuildService(rows, records, config);
    const alerts = { raise: () => Promise.resolve(), resolve: () => Promise.resolve() };
    this.#days = parts.droppedDays(this.#host);
    this.#ingest = parts.ingest(
      this.transactions,
      new KnownFacts(dataSource),
      new KnownWithdrawals(dataSource),
      this.tokens,
      new WithdrawalBooking(this.tokens, new LedgerService()),
      alerts as unknown as IngestParts[5],
      this.#epochs,
      new LateUsage(this.#epochs, this.tokens, this.live),
      new DroppedTelemetry(),
      this.#days,
      this.#host,
    );
    this.#journal = new JournalService(
      { isJournalProven: () => Promise.resolve(true) } as unknown as JournalParts[0],
      this.#epochs,
      this.#ingest,
      { note: () => undefined } as unknown as JournalParts[3],
      this.#host,
    );
    this.#closed = new ClosedBalances(dataSource, records, {
      payOut: (id: number) => this.payOut(id),
    } as unknown as ConstructorParameters<typeof ClosedBalances>[2]);
    writer.listen({ withdrawn: (withdrawn) => this.#bookWithdrawal(withdrawn) });
    const lostTail = new LostTail(
      this.redisLink as unknown as RedisConnection,
      this.transactions,
      this.#pump,
      this.#host,
    );
    lostTail.onApplicationBootstrap();
    // What a connection reports when it is made, also the first one.
    this.process.after(1, () => this.redisLink.emit('ready'), 'starts');
    this.#every(TAKE_EVERY_MS, () => this.#takeJob());
    this.#every(1_000, () => this.#sweep());
    this.#every(1_000, () => this.#lookAtEpochs());
    if (parts.paysOutRests) this.#every(60_000, async () => void (await this.#closed.look()));
  }

  kill(): void {
    this.process.kill();
    this.postgresLink.serverLost();
    this.redisLink.serverLost();
  }

  /** Starts a withdrawal as the product does: the mark and its promise in one transaction. */
  startWithdrawal(subscriptionId: number, withdrawalId: string, drain: boolean): Promise<void> {
    return this.transactions.run(async (tx) => {
      const row = await this.tokens.lockOne(tx, subscriptionId);
      if (row.status !== 'active') return;
      await tx.query(START_WITHDRAWAL, [[subscriptionId], [withdrawalId], drain]);
      await this.live.withdrawalsStarted(tx, [subscriptionId]);
    });
  }

  /** A purchase, which opens a closed subscription again. */
  buy(subscriptionId: number, tokens: number): Promise<void> {
    return this.transactions.run(async (tx) => {
      const row = await this.tokens.lockOne(tx, subscriptionId);
      if (row.status === 'closing') return;
      if (row.status === 'closed') await tx.query('REOPEN subscription', [subscriptionId]);
      await this.tokens.credit(tx, row, { tokens, cost: BigInt(tokens * 3), kind: 'renew' });
      await this.live.subscriptionChanged(tx, subscriptionId);
    });
  }

  /** As `UsagePartitions`: the mark first, then the rows, in one transaction. */
  dropDays(before: string): Promise<void> {
    return this.transactions.run(async (tx) => {
      await this.#days.drop(tx, before);
      await tx.query('DROP days of usage_events', [before]);
    });
  }

  payOut(subscriptionId: number): Promise<boolean> {
    return this.transactions.run(async (tx) => {
      const row = await this.tokens.lockOne(tx, subscriptionId);
      if (row.status !== 'closed' || row.balance === 0) return false;
      const after = row.withdrawalId === null ? 0 : timeOf(row.withdrawalId) + 1;
      const id = this.#world.random.uuidV7(Math.max(this.process.unixMs(), after));
      await tx.query(START_WITHDRAWAL, [[subscriptionId], [id], false]);
      await this.live.withdrawalsStarted(tx, [subscriptionId]);
      return true;
    });
  }

  /** Over HTTP: what is under way when something breaks may arrive all the same, and may arrive twice. */
  async takeJournal({ body, headers }: JournalPost): Promise<{ status: number; text: string }> {
    const receipt = await this.#journal.take({
      node: headers[JOURNAL_HEADERS.node] ?? '',
      atMs: Number(headers[JOURNAL_HEADERS.at]),
      proof: headers[JOURNAL_HEADERS.proof] ?? '',
      body: Buffer.from(body),
    });
    return { status: 200, text: JSON.stringify(receipt) };
  }

  #every(ms: number, work: () => Promise<void>): void {
    const again = (): void =>
      void this.process.after(ms + this.#world.random.next(), () => {
        work().then(again, again);
      });
    again();
  }

  async #takeJob(): Promise<void> {
    const job = await this.#onQueue('take', takeJob(this.#world.duplicates()));
    if (!job) return;
    try {
      await this.#process(job.job.events);
      await this.#onQueue('complete', (state) => {
        state.jobs = state.jobs.filter(({ id }) => id !== job.id);
      });
    } catch {
      await this.#onQueue('fail', (state, nowMs) => {
        const failed = state.jobs.find(({ id }) => id === job.id);
        if (failed) Object.assign(failed, { takenUntilMs: 0, readyAtMs: nowMs + JOB_RETRY_MS });
      });
    }
  }

  /** As `UsageWorker.process`: books, then acknowledges. */
  async #process(events: readonly RelayedEvent[]): Promise<void> {
    await this.#ingest.ingest(events);
    for (const [node, list] of acknowledgementsOf(events)) {
      const text = JSON.stringify(list satisfies Acknowledgement[]);
      await this.#onQueue('acknowledge', (state) => {
        const lists = state.acknowledgements.get(node) ?? [];
        state.acknowledgements.set(node, [...lists, text]);
      }).catch(() => undefined);
    }
  }

  #onQueue<R>(label: string, act: (state: LiveState, nowMs: number) => R): Promise<R> {
    return this.redisLink.call(label, () => this.#world.redis.runAny(act));
  }

  async #bookWithdrawal(withdrawn: {
    userId: number;
    modelId: number;
    subscriptionId: number;
    withdrawalId: string;
    tokens: number;
  }): Promise<void> {
    const payload = {
      kind: 'withdraw',
      account_id: withdrawn.userId,
      subscription_id: withdrawn.subscriptionId,
      model_id: withdrawn.modelId,
      withdrawal_id: withdrawn.withdrawalId,
    };
    await this.#process([
      {
        shard: '',
        epoch: '',
        outboxId: '',
        rid: withdrawn.withdrawalId,
        seq: '0',
        delta: String(withdrawn.tokens),
        payload: JSON.stringify(payload),
      },
    ]);
  }

  async #sweep(): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    await this.#pump.sweep().finally(() => (this.#isSweeping = false));
  }

  /** As `EpochsService`: a shard without an epoch is filled from PostgreSQL, and opened with a new one only then. */
  async #lookAtEpochs(): Promise<void> {
    for (const shard of this.#world.redis.names) {
      const epoch = await this.redisLink.call('epoch', () =>
        this.#world.redis.run(shard, (model) => model.epoch),
      );
      if (epoch !== null) continue;
      const next = this.#host.uuid();
      await this.redisLink.call('begin rebuild', () =>
        this.#world.redis.runIn(shard, ({ rebuilds }) => void rebuilds.set(shard, next)),
      );
      await this.#epochs.change(shard, next);
      this.#filling = next;
      try {
        await this.#rebuild.rewriteAll(shard);
      } finally {
        this.#filling = null;
      }
      await this.redisLink.call('set epoch', () =>
        this.#world.redis.runIn(shard, ({ rebuilds }, model) => {
          rebuilds.delete(shard);
          model.epoch = next;
        }),
      );
    }
  }
}

const START_WITHDRAWAL =
  "UPDATE subscriptions s SET status = 'closing', withdrawal_id = v.withdrawal_id FROM unnest($1::int[], $2::uuid[]) AS v(id, withdrawal_id)";

function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
