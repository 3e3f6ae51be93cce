import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { SLOWLY_LIVE } from '../../api/live.ts';
import {
  routesQuery,
  routingHealthQuery,
  type FailingUpstream,
  type RouteTraffic,
} from '../../api/upstreams.ts';

export interface UpstreamFare {
  routes: number;
  /** Counts the requests of the last 24 hours. */
  requests: number;
  errors: number;
  /** Is the figure of the slowest route. */
  p95: number | null;
  /** Names the nodes that leave it alone now, and those that only see it fail. */
  resting: string[];
  failing: string[];
}

export interface UpstreamFares {
  of: (upstreamId: number) => UpstreamFare;
}

/** Reads the health of each upstream, all its routes together. */
export function useUpstreamFares(): UpstreamFares {
  const { data: routes } = useQuery(routesQuery);
  const { data: health } = useQuery({ ...routingHealthQuery, ...SLOWLY_LIVE });
  return useMemo(() => {
    const ofUpstream = <One extends { upstream_id: number }>(all: readonly One[] | undefined) =>
      Map.groupBy(all ?? [], (one) => one.upstream_id);
    const routesOf = ofUpstream(routes?.data);
    const trafficOf = ofUpstream(health?.traffic);
    const failingOf = ofUpstream(health?.failing);
    return {
      of: (id) => ({
        routes: routesOf.get(id)?.length ?? 0,
        ...carried(trafficOf.get(id) ?? []),
        ...unwell(failingOf.get(id) ?? []),
      }),
    };
  }, [routes, health]);
}

function carried(traffic: readonly RouteTraffic[]) {
  const latencies = traffic.flatMap((one) => one.duration_p95_ms ?? []);
  return {
    requests: traffic.reduce((sum, one) => sum + one.requests, 0),
    errors: traffic.reduce((sum, one) => sum + one.errors, 0),
    p95: latencies.length === 0 ? null : Math.max(...latencies),
  };
}

function unwell(all: readonly FailingUpstream[]) {
  // Requests that fail for some accounts only are their own fault, so they do not count here.
  const failures = all.filter((one) => one.failures_in_row > 0);
  const nodes = (isResting: boolean): string[] => [
    ...new Set(
      failures.filter((one) => one.rests_for_ms > 0 === isResting).map(({ node }) => node),
    ),
  ];
  return { resting: nodes(true), failing: nodes(false) };
}
