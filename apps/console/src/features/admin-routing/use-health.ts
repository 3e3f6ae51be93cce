import { useQuery } from '@tanstack/react-query';
import { SLOWLY_LIVE } from '../../api/live.ts';
import { routingHealthQuery, type Route, type RouteTraffic } from '../../api/upstreams.ts';

/** From this share of errors on a route is marked. */
const ERRORS_MANY = 0.1;

export type RouteState = 'unused' | 'resting' | 'failing' | 'sound';

export interface RouteHealth {
  trafficOf: (route: Pick<Route, 'model_id' | 'upstream_id'>) => RouteTraffic | undefined;
  /** Workers that leave the upstream alone now. */
  restingOn: (upstreamId: number) => number;
  stateOf: (route: Route, isUpstreamEnabled: boolean) => RouteState;
}

/** Reads the health of each route: its traffic of the last day, and the nodes that leave it alone now. */
export function useRouteHealth(): RouteHealth {
  const { data } = useQuery({ ...routingHealthQuery, ...SLOWLY_LIVE });
  const trafficOf: RouteHealth['trafficOf'] = (route) =>
    data?.traffic.find(
      (one) => one.model_id === route.model_id && one.upstream_id === route.upstream_id,
    );
  const restingOn = (upstreamId: number): number =>
    data?.failing.filter((one) => one.upstream_id === upstreamId && one.rests_for_ms > 0).length ??
    0;
  return {
    trafficOf,
    restingOn,
    stateOf: (route, isUpstreamEnabled) => {
      if (!route.enabled || !isUpstreamEnabled) return 'unused';
      if (restingOn(route.upstream_id) > 0) return 'resting';
      const traffic = trafficOf(route);
      return traffic && traffic.errors / traffic.requests >= ERRORS_MANY ? 'failing' : 'sound';
    },
  };
}
