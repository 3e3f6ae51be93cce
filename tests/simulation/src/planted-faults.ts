import type { RelayedEvent } from '@tollgate/contracts';
import { BookedWithdrawals } from '../../../apps/control-plane/src/features/live-state/booked-withdrawals.ts';
import { DroppedDays } from '../../../apps/control-plane/src/features/usage/ingest/dropped-days.ts';
import { UsageIngest } from '../../../apps/control-plane/src/features/usage/ingest/usage-ingest.service.ts';
import type { FaultKind } from './fault-plan.ts';
import { SHIPPED, type Parts } from './world.ts';

/** An error that the product once had, as a part that takes the place of the shipped one. */
export interface PlantedFault {
  name: string;
  parts: Parts;
  /** What must happen for it to show; drawn more often than in a run of everything. */
  kinds: readonly FaultKind[];
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
    kinds: ['node-clock'],
    foundWithinSeeds: 5,
  },
  {
    name: 'booked withdrawals are not repeated after a lost tail',
    parts: withControlPlane({
      bookedWithdrawals: (...parts) => new ForgetfulWithdrawals(...parts),
    }),
    kinds: ['redis-crash'],
    foundWithinSeeds: 40,
  },
  {
    name: 'the lock of a journal is always granted',
    parts: withNode({
      tryLock: (take) => (folder) =>
        take(folder) ?? { fence: 1, release: () => undefined, retire: () => undefined },
    }),
    kinds: ['kill-node'],
    foundWithinSeeds: 5,
  },
  {
    name: 'a journal that cannot be read is deleted',
    parts: withNode({
      disk: (disk) => ({ ...disk, rename: (from) => disk.remove(from) }),
    }),
    kinds: ['damaged-journal', 'cut-node'],
    foundWithinSeeds: 10,
  },
  {
    name: 'what is left in closed subscriptions is not looked for',
    parts: withControlPlane({ paysOutRests: false }),
    kinds: ['redis-flush', 'redis-crash'],
    foundWithinSeeds: 40,
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
    kinds: ['full-disk', 'full-disk', 'cut-node', 'kill-node'],
    foundWithinSeeds: 40,
  },
  {
    name: 'finals of dropped days are booked again',
    parts: withControlPlane({ droppedDays: (host) => new ForgetfulDays(host) }),
    kinds: ['drop-days', 'drop-days', 'redis-crash', 'kill-node'],
    foundWithinSeeds: 10,
  },
];
