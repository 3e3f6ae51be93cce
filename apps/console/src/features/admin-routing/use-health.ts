import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { SLOWLY_LIVE } from '../../api/live.ts';
import {
  routingHealthQuery,
  type Route,
  type RouteTraffic,
  type RoutingHealth,
} from '../../api/upstreams.ts';

/** A route is marked from this share of errors on. */
const ERRORS_MANY = 0.1;

/** Lists the worst state first; routes without traffic are last. */
export const ROUTE_STATES = ['resting', 'failing', 'sound', 'idle', 'unused'] as const;
export type RouteState = (typeof ROUTE_STATES)[number];

export interface RouteHealth {
  /** Is false until the server has answered: a route without traffic is not known to have none. */
  isKnown: boolean;
  trafficOf: (route: Pick<Route, 'model_id' | 'upstream_id'>) => RouteTraffic | undefined;
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
  const resting = new Set(
    health?.failing.filter((one) => one.rests_for_ms > 0).map((one) => one.upstream_id),
  );
  const trafficOf: RouteHealth['trafficOf'] = (route) => traffic.get(nameOf(route));
  return {
    isKnown: health !== undefined,
    trafficOf,
    stateOf: (route, isUpstreamEnabled) => {
      if (!route.enabled || !isUpstreamEnabled) return 'unused';
      if (resting.has(route.upstream_id)) return 'resting';
      const { requests = 0, errors = 0 } = trafficOf(route) ?? {};
      if (requests === 0) return 'idle';
      return errors / requests >= ERRORS_MANY ? 'failing' : 'sound';
    },
  };
}
