import { basename, dirname } from 'node:path';
import type { RelayedEvent } from '@tollgate/contracts';
import { LiveBalances } from '../../../apps/control-plane/src/features/live-state/live-balances.ts';
import { LiveRows } from '../../../apps/control-plane/src/features/live-state/live-rows.sql.ts';
import { AutoRechargeService } from '../../../apps/control-plane/src/features/subscriptions/auto-recharge/auto-recharge.service.ts';
import { UsageIngest } from '../../../apps/control-plane/src/features/usage/ingest/usage-ingest.service.ts';
import { WithdrawalsService } from '../../../apps/control-plane/src/features/subscriptions/withdrawals.service.ts';
import { UsageWorker } from '../../../apps/control-plane/src/features/usage/ingest/usage-worker.ts';
import { FIRST_SUBSCRIPTIONS } from './postgres/first-rows.ts';
import {
  EarlyPrices,
  firstOfLane,
  ForgetfulDays,
  ForgetfulWithdrawals,
  HastyWaits,
  IdleReaps,
  politeFirst,
  repeating,
  TrustingProofs,
  UnlockedPrices,
} from './planted-parts.ts';
import { SHIPPED, type Parts } from './world.ts';

/** Is an error that the product once had, as a part that replaces the shipped one. */
export interface PlantedFault {
  name: string;
  parts: Parts;
}

/** Finals whose duration is negative become dead letters, as when their contract was checked whole. */
class StrictIngest extends UsageIngest {
  override ingest(
    relayed: readonly RelayedEvent[],
    ...[source, forged = []]: Parameters<UsageIngest['ingest']> extends [unknown, ...infer Rest]
      ? Rest
      : never
  ): ReturnType<UsageIngest['ingest']> {
    const isRefused = ({ payload }: RelayedEvent): boolean => /"duration_ms":-/.test(payload);
    const letters = relayed
      .filter(isRefused)
      .map((event) => ({ relayed: event, reason: 'duration_ms: too small' }));
    const others = relayed.filter((event) => !isRefused(event));
    return super.ingest(others, source, [...forged, ...letters]);
  }
}

/** Judges booked usage as if it were new, by the delta that Redis repeats: a node that lost the end of its journal knows less than was booked. */
class JudgingIngest extends UsageIngest {
  override ingest(
    relayed: readonly RelayedEvent[],
    ...[source, forged = []]: Parameters<UsageIngest['ingest']> extends [unknown, ...infer Rest]
      ? Rest
      : never
  ): ReturnType<UsageIngest['ingest']> {
    const isRefused = ({ seq, delta, payload }: RelayedEvent): boolean => {
      const [, charge = delta] = /"charge":(\d+)/.exec(payload) ?? [];
      return seq === '0' && charge !== delta;
    };
    const letters = relayed
      .filter(isRefused)
      .map((event) => ({ relayed: event, reason: 'the first charge must equal its delta' }));
    const others = relayed.filter((event) => !isRefused(event));
    return super.ingest(others, source, [...forged, ...letters]);
  }
}

/** Says that Redis has every credit that PostgreSQL has. */
class HastyBalances extends LiveBalances {
  readonly #shipped: LiveBalances;
  readonly #rows: LiveRows;

  constructor(shipped: LiveBalances, dataSource: ConstructorParameters<typeof LiveRows>[0]) {
    super(undefined as never);
    this.#shipped = shipped;
    this.#rows = new LiveRows(dataSource);
  }

  override async read(
    ...[accountId, modelIds]: Parameters<LiveBalances['read']>
  ): ReturnType<LiveBalances['read']> {
    const balances = await this.#shipped.read(accountId, modelIds);
    const ids = FIRST_SUBSCRIPTIONS.flatMap((one) => (one.accountId === accountId ? one.id : []));
    const [row] = await this.#rows.subscriptions(ids);
    for (const balance of balances?.values() ?? []) balance.creditSeq = row?.creditSeq ?? 0;
    return balances;
  }
}

function withNode(parts: Partial<Parts['node']>): Parts {
  return { ...SHIPPED, node: { ...SHIPPED.node, ...parts } };
}
function withControlPlane(parts: Partial<Parts['controlPlane']>): Parts {
  return { ...SHIPPED, controlPlane: { ...SHIPPED.controlPlane, ...parts } };
}

export const PLANTED_FAULTS: readonly PlantedFault[] = [
  {
    name: 'durations by the wall clock, refused when they are negative',
    parts: {
      node: {
        ...SHIPPED.node,
        durationMs: (process, startedAt) => process.unixMs() - startedAt.unixMs,
      },
      controlPlane: {
        ...SHIPPED.controlPlane,
        ingest: (...parts) => new StrictIngest(...parts),
      },
    },
  },
  {
    name: 'booked withdrawals are not repeated after a lost tail',
    parts: withControlPlane({
      bookedWithdrawals: (...parts) => new ForgetfulWithdrawals(...parts),
    }),
  },
  {
    name: 'the lock of a journal is always granted',
    parts: withNode({
      tryLock: (take) => (folder) =>
        take(folder) ?? { fence: 1, release: () => undefined, retire: () => undefined },
    }),
  },
  {
    name: 'a journal that cannot be read is deleted',
    parts: withNode({
      disk: (disk) => ({ ...disk, rename: (from) => disk.remove(from) }),
    }),
  },
  {
    name: 'the folder of a new journal is not synced',
    parts: withNode({ disk: (disk) => ({ ...disk, syncFolder: () => undefined }) }),
  },
  {
    name: 'the folders above that of a new journal are not synced',
    parts: withNode({
      disk: (disk) => ({
        ...disk,
        syncFolder: (folder) => {
          if (basename(dirname(folder)) === 'journals') disk.syncFolder(folder);
        },
      }),
    }),
  },
  {
    name: 'what is left in closed subscriptions is not looked for',
    parts: withControlPlane({ paysOutRests: false }),
  },
  {
    name: 'no room for finals is allocated ahead',
    parts: withNode({
      disk: (disk) => ({
        ...disk,
        writeSync: (descriptor, bytes, offset, length, position) =>
          bytes.every((byte) => byte === 0)
            ? length
            : disk.writeSync(descriptor, bytes, offset, length, position),
      }),
    }),
  },
  {
    name: 'a write or a sync that failed counts as done',
    parts: withNode({
      disk: (disk) => ({
        ...disk,
        writeSync: (descriptor, bytes, offset, length, position) => {
          try {
            return disk.writeSync(descriptor, bytes, offset, length, position);
          } catch {
            return length;
          }
        },
        fdatasync: (descriptor, done) => disk.fdatasync(descriptor, () => done(null)),
      }),
    }),
  },
  {
    name: 'finals of dropped days are booked again',
    parts: withControlPlane({ droppedDays: (host) => new ForgetfulDays(host) }),
  },
  {
    name: 'finals in Redis are believed without their MAC',
    parts: withControlPlane({ proofs: (...parts) => new TrustingProofs(...parts) }),
  },
  {
    name: 'auto-recharge does not wait until Redis has what it bought',
    parts: withControlPlane({
      recharge: (dataSource, transactions, balances, ...parts) =>
        new AutoRechargeService(
          dataSource,
          transactions,
          new HastyBalances(balances, dataSource),
          ...parts,
        ),
    }),
  },
  {
    name: 'a request that waited for a purchase is refused without a second look',
    parts: withNode({ waits: (parts) => new HastyWaits(parts) }),
  },
  {
    name: 'charges of reaps that the queue lost are not sent again',
    parts: withControlPlane({ lostReaps: (...parts) => new IdleReaps(...parts) }),
  },
  {
    name: 'the epochs of Redis and PostgreSQL are not compared',
    parts: withControlPlane({
      comparedEpochs: (redis, known) =>
        Object.create(known, {
          current: {
            value: async (shard: string) => (await redis.read(shard)) ?? known.current(shard),
          },
        }),
    }),
  },
  {
    name: 'usage is acknowledged before it is booked',
    parts: withControlPlane({ worker: (...parts) => new UsageWorker(...politeFirst(parts)) }),
  },
  // A job that ends before its lane has booked it breaks no promise: nodes emit again what was not acknowledged.
  {
    name: 'a lane acknowledges all jobs of a group and books the first',
    parts: withControlPlane({ worker: (...parts) => firstOfLane(parts) }),
  },
  {
    name: 'prices are not locked while tokens are bought',
    parts: withControlPlane({ prices: () => new UnlockedPrices() }),
  },
  {
    name: 'a purchase that waited for its lock pays the price of before',
    parts: withControlPlane({ prices: () => new EarlyPrices() }),
  },
  {
    name: 'the id of a withdrawal is that of the one before',
    parts: withControlPlane({
      withdrawals: (...parts) => new WithdrawalsService(...repeating(parts)),
    }),
  },
  {
    name: 'duplicates are judged before they are dropped',
    parts: withControlPlane({ ingest: (...parts) => new JudgingIngest(...parts) }),
  },
];
