import type { RelayedEvent } from '@tollgate/contracts';
import { LiveBalances } from '../../../apps/control-plane/src/features/live-state/live-balances.ts';
import { LiveRows } from '../../../apps/control-plane/src/features/live-state/live-rows.sql.ts';
import { AutoRechargeService } from '../../../apps/control-plane/src/features/subscriptions/auto-recharge/auto-recharge.service.ts';
import { UsageIngest } from '../../../apps/control-plane/src/features/usage/ingest/usage-ingest.service.ts';
import type { Fault, FaultKind } from './fault-plan.ts';
import { FIRST_SUBSCRIPTIONS } from './postgres/first-rows.ts';
import {
  ForgetfulDays,
  ForgetfulWithdrawals,
  HastyWaits,
  IdleReaps,
  TrustingProofs,
} from './planted-parts.ts';
import type { Random } from './random.ts';
import { SHIPPED, type Parts } from './world.ts';

/** An error that the product once had, as a part that takes the place of the shipped one. */
export interface PlantedFault {
  name: string;
  parts: Parts;
  /** What must happen for it to show, at moments that the seed draws. */
  faults: (random: Random) => Fault[];
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

/** What is booked already is judged as if it were new, by the delta that Redis repeats: a node that lost the end of its journal knows less than was booked. */
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

const at = (
  kind: FaultKind,
  atMs: number,
  forMs: number,
  { target = 0, size = 0 } = {},
): Fault => ({
  kind,
  atMs,
  forMs,
  target,
  size,
});
const turns = (count: number, draw: (nth: number) => Fault[]): Fault[] =>
  Array.from({ length: count }, (_, nth) => draw(nth)).flat();

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
    faults: (random) =>
      turns(6, (nth) => [
        at('node-clock', 5_000 + nth * 14_000 + random.integer(0, 4_000), 8_000, {
          target: nth,
          size: 0.2,
        }),
      ]),
  },
  {
    name: 'booked withdrawals are not repeated after a lost tail',
    parts: withControlPlane({
      bookedWithdrawals: (...parts) => new ForgetfulWithdrawals(...parts),
    }),
    faults: (random) =>
      turns(50, (nth) => [
        at('redis-crash', 5_000 + nth * 1_700 + random.integer(0, 300), 200, { size: 0.99 }),
      ]),
  },
  {
    name: 'the lock of a journal is always granted',
    parts: withNode({
      tryLock: (take) => (folder) =>
        take(folder) ?? { fence: 1, release: () => undefined, retire: () => undefined },
    }),
    faults: (random) =>
      turns(4, (nth) => [at('kill-node', 10_000 + nth * 18_000 + random.integer(0, 5_000), 2_000)]),
  },
  {
    name: 'a journal that cannot be read is deleted',
    parts: withNode({
      disk: (disk) => ({ ...disk, rename: (from) => disk.remove(from) }),
    }),
    faults: (random) =>
      turns(3, (target) => {
        const from = 10_000 + target * 24_000 + random.integer(0, 3_000);
        return [
          at('cut-node', from, 15_000, { target }),
          at('damaged-journal', from + random.integer(4_000, 9_000), 3_000, { target }),
        ];
      }),
  },
  {
    name: 'what is left in closed subscriptions is not looked for',
    parts: withControlPlane({ paysOutRests: false }),
    // What requests release after the withdrawal is lost with Redis, before a relay has seen it; late, so that no purchase follows.
    faults: (random) =>
      turns(6, (nth) => {
        const from = 62_000 + nth * 4_500 + random.integer(0, 1_000);
        return [
          at('unsubscribe', from, 0, { target: nth }),
          at('redis-flush', from + random.integer(200, 2_500), 300),
        ];
      }),
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
    faults: (random) =>
      turns(3, (target) => {
        const from = 10_000 + target * 24_000 + random.integer(0, 3_000);
        return [
          at('cut-node', from, 15_000, { target }),
          at('full-disk', from, 15_000, { target: target === 2 ? 1 : 0 }),
          at('kill-node', from + random.integer(2_000, 9_000), 8_000, { target }),
        ];
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
    // Requests from before have ended and are booked; of those admitted since, only Redis knows when it loses its last second.
    faults: (random) =>
      turns(3, (target) => {
        const from = 8_000 + target * 25_000 + random.integer(0, 2_000);
        return [
          at('failing-disk', from, 17_000, { target: target === 2 ? 1 : 0 }),
          at('postgres-crash', from + 12_000, 4_000),
          at('kill-node', from + 13_500, 6_000, { target }),
          at('redis-crash', from + 13_520, 300, { size: 0.99 }),
        ];
      }),
  },
  {
    name: 'finals of dropped days are booked again',
    parts: withControlPlane({ droppedDays: (host) => new ForgetfulDays(host) }),
    faults: (random) => [
      at('drop-days', 60_500 + random.integer(0, 2_000), 0),
      at('redis-crash', 63_000 + random.integer(0, 3_000), 300),
    ],
  },
  {
    name: 'finals in Redis are believed without their MAC',
    parts: withControlPlane({ proofs: (...parts) => new TrustingProofs(...parts) }),
    faults: (random) =>
      turns(20, (nth) => [at('forgery', 5_000 + nth * 4_000 + random.integer(0, 2_000), 0)]),
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
    // Now and then one dies between the commit of a purchase and its write to Redis: the other one looks at the same need before it repeats the write.
    faults: (random) =>
      turns(140, (nth) => [
        at('kill-control-plane', 5_000 + nth * 500 + random.integer(0, 200), 250, { target: nth }),
      ]),
  },
  {
    name: 'a request that waited for a purchase is refused without a second look',
    parts: withNode({ waits: (parts) => new HastyWaits(parts) }),
    faults: () => [],
  },
  {
    name: 'charges of reaps that the queue lost are not sent again',
    parts: withControlPlane({ lostReaps: (...parts) => new IdleReaps(...parts) }),
    // What a machine left behind is reaped a lease later, when the queue loses what it is given.
    faults: (random) => [
      at('lost-disk', 12_000 + random.integer(0, 3_000), 2_000),
      at('lost-jobs', 68_000, 20_000),
    ],
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
    faults: (random) =>
      turns(2, (nth) => {
        const from = 12_000 + nth * 35_000 + random.integer(0, 3_000);
        return [at('redis-flush', from, 300), at('redis-old-file', from + 15_000, 300)];
      }),
  },
  {
    name: 'duplicates are judged before they are dropped',
    parts: withControlPlane({ ingest: (...parts) => new JudgingIngest(...parts) }),
    // The disk has not kept the last finals, Redis and PostgreSQL have.
    faults: (random) =>
      turns(20, (nth) => [
        at('power-loss', 6_000 + nth * 4_000 + random.integer(0, 2_000), 1_000, { target: nth }),
      ]),
  },
];
