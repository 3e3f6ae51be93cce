import type { RelayedEvent } from '@tollgate/contracts';
import { BookedWithdrawals } from '../../../apps/control-plane/src/features/live-state/booked-withdrawals.ts';
import { DroppedDays } from '../../../apps/control-plane/src/features/usage/ingest/dropped-days.ts';
import { UsageIngest } from '../../../apps/control-plane/src/features/usage/ingest/usage-ingest.service.ts';
import type { Fault, FaultKind } from './fault-plan.ts';
import type { Random } from './random.ts';
import { SHIPPED, type Parts } from './world.ts';

/** An error that the product once had, as a part that takes the place of the shipped one. */
export interface PlantedFault {
  name: string;
  parts: Parts;
  /** What must happen for it to show, at moments that the seed draws. */
  faults: (random: Random) => Fault[];
  foundWithinSeeds: number;
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

class ForgetfulWithdrawals extends BookedWithdrawals {
  override repeat(): Promise<void> {
    return Promise.resolve();
  }
}

class ForgetfulDays extends DroppedDays {
  override setAside(
    ...[, events]: Parameters<DroppedDays['setAside']>
  ): ReturnType<DroppedDays['setAside']> {
    return Promise.resolve({ kept: events, aside: [] });
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
    foundWithinSeeds: 10,
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
    foundWithinSeeds: 10,
  },
  {
    name: 'the lock of a journal is always granted',
    parts: withNode({
      tryLock: (take) => (folder) =>
        take(folder) ?? { fence: 1, release: () => undefined, retire: () => undefined },
    }),
    faults: (random) =>
      turns(4, (nth) => [at('kill-node', 10_000 + nth * 18_000 + random.integer(0, 5_000), 2_000)]),
    foundWithinSeeds: 10,
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
    foundWithinSeeds: 10,
  },
  {
    name: 'what is left in closed subscriptions is not looked for',
    parts: withControlPlane({ paysOutRests: false }),
    faults: (random) =>
      turns(50, (nth) => [
        at('redis-crash', 5_000 + nth * 1_700 + random.integer(0, 300), 200, { size: 0.99 }),
      ]),
    foundWithinSeeds: 10,
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
    foundWithinSeeds: 10,
  },
  {
    name: 'finals of dropped days are booked again',
    parts: withControlPlane({ droppedDays: (host) => new ForgetfulDays(host) }),
    faults: (random) => [
      at('drop-days', 60_500 + random.integer(0, 2_000), 0),
      at('redis-crash', 63_000 + random.integer(0, 3_000), 300),
    ],
    foundWithinSeeds: 10,
  },
];
