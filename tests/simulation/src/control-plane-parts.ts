import { BookedWithdrawals } from '../../../apps/control-plane/src/features/live-state/booked-withdrawals.sql.ts';
import { FinalProofs } from '../../../apps/control-plane/src/features/proxy-nodes/final-proofs.ts';
import type { ShardEpochs } from '../../../apps/control-plane/src/features/epochs/shard-epochs.sql.ts';
import { LostReaps } from '../../../apps/control-plane/src/features/reconciliation/lost-reaps.ts';
import { AutoRechargeService } from '../../../apps/control-plane/src/features/subscriptions/auto-recharge/auto-recharge.service.ts';
import { DroppedDays } from '../../../apps/control-plane/src/features/usage/ingest/dropped-days.sql.ts';
import { UsageIngest } from '../../../apps/control-plane/src/features/usage/ingest/usage-ingest.service.ts';
import { UsageWorker } from '../../../apps/control-plane/src/features/usage/ingest/usage-worker.ts';
import { PricesInForce } from '../../../apps/control-plane/src/features/models/prices-in-force.service.ts';
import { WithdrawalsService } from '../../../apps/control-plane/src/features/subscriptions/withdrawals.service.ts';
import type { FleetMessage } from '@tollgate/contracts';
import type { Epochs } from '@tollgate/keyspace';
import type { Host } from '../../../apps/control-plane/src/platform/host/host.ts';
import type { LiveStore } from './redis/live-store.ts';
import type { ModelPostgres } from './postgres/model-postgres.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/** Holds parts that a test may replace by broken ones. */
export interface ControlPlaneParts {
  bookedWithdrawals: (
    ...parts: ConstructorParameters<typeof BookedWithdrawals>
  ) => BookedWithdrawals;
  droppedDays: (host: Host) => DroppedDays;
  ingest: (...parts: ConstructorParameters<typeof UsageIngest>) => UsageIngest;
  worker: (...parts: ConstructorParameters<typeof UsageWorker>) => UsageWorker;
  proofs: (...parts: ConstructorParameters<typeof FinalProofs>) => FinalProofs;
  lostReaps: (...parts: ConstructorParameters<typeof LostReaps>) => LostReaps;
  prices: () => PricesInForce;
  withdrawals: (...parts: ConstructorParameters<typeof WithdrawalsService>) => WithdrawalsService;
  recharge: (...parts: ConstructorParameters<typeof AutoRechargeService>) => AutoRechargeService;
  /** Returns the epochs that a control plane believes PostgreSQL to have when it compares them with Redis'. */
  comparedEpochs: (redis: Epochs, known: ShardEpochs) => ShardEpochs;
  /** Is true when what is left in closed subscriptions is looked for. */
  paysOutRests: boolean;
}

export const SHIPPED_CONTROL_PLANE: ControlPlaneParts = {
  bookedWithdrawals: (...parts) => new BookedWithdrawals(...parts),
  droppedDays: (host) => new DroppedDays(host),
  ingest: (...parts) => new UsageIngest(...parts),
  worker: (...parts) => new UsageWorker(...parts),
  proofs: (...parts) => new FinalProofs(...parts),
  lostReaps: (...parts) => new LostReaps(...parts),
  prices: () => new PricesInForce(),
  withdrawals: (...parts) => new WithdrawalsService(...parts),
  recharge: (...parts) => new AutoRechargeService(...parts),
  comparedEpochs: (_redis, known) => known,
  paysOutRests: true,
};

export interface ControlPlaneWorld {
  scheduler: Scheduler;
  random: Random;
  redis: LiveStore;
  postgres: ModelPostgres;
  shards: number;
  parts: ControlPlaneParts;
  /** Returns what its machine's wall clock is wrong by. */
  wallErrorMs: () => number;
  /** Sends to all nodes, which may miss it. */
  announce: (message: FleetMessage) => void;
  /** Ends the run. */
  broken: (error: unknown) => void;
  /** Is true for a delivery of a job that is given to a second worker, as when the first one was taken for dead. */
  duplicates: () => boolean;
}
