import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { SLOWLY_LIVE } from '../../api/live.ts';
import {
  routingHealthQuery,
  type Route,
  type RouteTraffic,
  type RoutingHealth,
} from '../../api/upstreams.ts';

/** From this share of errors on a route is marked. */
const ERRORS_MANY = 0.1;

/** The worst first. */
export const ROUTE_STATES = ['resting', 'failing', 'sound', 'idle', 'unused'] as const;
export type RouteState = (typeof ROUTE_STATES)[number];

export interface RouteHealth {
  trafficOf: (route: Pick<Route, 'model_id' | 'upstream_id'>) => RouteTraffic | undefined;
  /** Workers that leave the upstream alone now. */
  restingOn: (upstreamId: number) => number;
  stateOf: (route: Route, isUpstreamEnabled: boolean) => RouteState;
}

/** Reads the health of each route: its traffic of the last day, and the nodes that leave it alone now. */
export function useRouteHealth(): RouteHealth {
  const { data } = useQuery({ ...routingHealthQuery, ...SLOWLY_LIVE });
  return useMemo(() => healthOf(data), [data]);
}

function healthOf(health: RoutingHealth | undefined): RouteHealth {
  const nameOf = (ends: Pick<Route, 'model_id' | 'upstream_id'>): string =>
    `${ends.model_id} ${ends.upstream_id}`;
  const traffic = new Map(health?.traffic.map((one) => [nameOf(one), one]));
  const resting = new Map<number, number>();
  for (const { upstream_id: id, rests_for_ms: ms } of health?.failing ?? [])
    if (ms > 0) resting.set(id, (resting.get(id) ?? 0) + 1);
  const trafficOf: RouteHealth['trafficOf'] = (route) => traffic.get(nameOf(route));
  const restingOn = (upstreamId: number): number => resting.get(upstreamId) ?? 0;
  return {
    trafficOf,
    restingOn,
    stateOf: (route, isUpstreamEnabled) => {
      if (!route.enabled || !isUpstreamEnabled) return 'unused';
      if (restingOn(route.upstream_id) > 0) return 'resting';
      const { requests = 0, errors = 0 } = trafficOf(route) ?? {};
      if (requests === 0) return 'idle';
      return errors / requests >= ERRORS_MANY ? 'failing' : 'sound';
    },
  };
}
