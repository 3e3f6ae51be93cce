import { monotonicMs } from '../monotonic-ms.ts';
import type { DenyCache } from '../pipeline/admission/deny-cache.ts';
import type { RechargeWaits } from '../pipeline/admission/recharge-waits.ts';
import type { LiveSet } from '../live-map.ts';
import type { Turn } from '../pipeline/turn.ts';
import type { SnapshotFollower } from '../snapshot/snapshot-follower.ts';
import type { UpstreamHealth } from '../upstream/upstream-health.ts';
import type { UpstreamTrust } from '../upstream/upstream-trust.ts';
import type { DumpTables } from './node-dump.ts';

const SEALED = '[sealed]';

/** Returns the in-memory tables of a worker for administrators, without secrets and key hashes. */
export function nodeTables({
  follower,
  health,
  trust,
  denials,
  denialsMax,
  waits,
  waitersMax,
  running,
}: {
  follower: SnapshotFollower;
  health: UpstreamHealth;
  trust: UpstreamTrust;
  denials: DenyCache;
  denialsMax: number;
  waits: RechargeWaits;
  waitersMax: number;
  running: LiveSet<Turn>;
}): DumpTables {
  return {
    ...snapshotTables(follower),
    upstream_health: {
      entries: () => health.dump(monotonicMs()).length,
      limit: null,
      rows: () =>
        health.dump(monotonicMs()).map((value) => ({
          key: String(value.upstream_id),
          value: { ...value, ...trust.of(value.upstream_id, monotonicMs()) },
        })),
    },
    recharge_waits: { entries: () => waits.size, limit: waitersMax, rows: () => [] },
    requests: requestsTable(running),
    rate_denials: { entries: () => denials.size, limit: denialsMax, rows: () => [] },
  };
}

function requestsTable(running: LiveSet<Turn>): DumpTables['requests'] {
  const isOf = ({ admitted }: Turn, accountId: number | undefined): boolean =>
    accountId === undefined || admitted.accountId === accountId;
  return {
    entries: () => running.size,
    limit: null,
    rows: (accountId) =>
      [...running]
        .filter((turn) => isOf(turn, accountId))
        .map((turn) => ({ key: turn.rid, value: turn.running })),
  };
}

function snapshotTables(
  follower: SnapshotFollower,
): Pick<DumpTables, 'models' | 'routes' | 'upstreams'> {
  const document = () => follower.current?.snapshot.document;
  return {
    models: {
      entries: () => document()?.models.length ?? 0,
      limit: null,
      rows: () => (document()?.models ?? []).map((model) => ({ key: model.name, value: model })),
    },
    routes: {
      entries: () => document()?.routes.length ?? 0,
      limit: null,
      rows: () =>
        (document()?.routes ?? []).map((route) => ({ key: String(route.id), value: route })),
    },
    upstreams: {
      entries: () => document()?.upstreams.length ?? 0,
      limit: null,
      rows: () =>
        (document()?.upstreams ?? []).map((upstream) => ({
          key: String(upstream.id),
          value: {
            ...upstream,
            sealed_api_key: upstream.sealed_api_key === null ? null : SEALED,
            ...(upstream.credentials && {
              credentials: upstream.credentials.map((each) => ({
                ...each,
                sealed_api_key: SEALED,
              })),
            }),
            headers: Object.keys(upstream.headers),
          },
        })),
    },
  };
}
