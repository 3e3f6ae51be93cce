import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { routesQuery, type Route } from '../../api/upstreams.ts';
import type { Loadable } from '../../ui/states.tsx';
import { useRouteHealth, type RouteState } from './use-health.ts';
import { useNames, type Names } from './use-names.ts';

export interface RouteFilter {
  modelId?: number;
  upstreamId?: number;
  /** Part of the name of the model or the upstream, or of the model's name there. */
  q?: string;
  state?: RouteState | undefined;
}

/** Returns the routes that a filter leaves, by model and tier. */
export function useShownRoutes({
  modelId,
  upstreamId,
  q = '',
  state,
}: RouteFilter): Loadable<readonly Route[]> {
  const list = useQuery(routesQuery);
  const names = useNames();
  const health = useRouteHealth();
  const sorted = useMemo(() => list.data?.data.toSorted(byModelAndTier(names)), [list.data, names]);
  const data = useMemo(
    () =>
      sorted?.filter(
        (route) =>
          (modelId === undefined || route.model_id === modelId) &&
          (upstreamId === undefined || route.upstream_id === upstreamId) &&
          (q === '' || namesOf(route, names).includes(q.trim().toLowerCase())) &&
          (state === undefined || health.stateOf(route, isEnabledAt(route, names)) === state),
      ),
    [sorted, names, health, modelId, upstreamId, q, state],
  );
  return { data, error: list.error, refetch: list.refetch };
}

export function isEnabledAt({ upstream_id: id }: Route, { upstreams }: Names): boolean {
  return upstreams.get(id)?.enabled ?? true;
}

function namesOf(route: Route, { models, upstreams }: Names): string {
  return [
    models.get(route.model_id)?.name,
    upstreams.get(route.upstream_id)?.name,
    route.upstream_model,
  ]
    .join('\n')
    .toLowerCase();
}

const { compare } = new Intl.Collator();

function byModelAndTier({ models }: Names): (a: Route, b: Route) => number {
  const name = (route: Route): string => models.get(route.model_id)?.name ?? '';
  return (a, b) => compare(name(a), name(b)) || a.priority - b.priority || b.weight - a.weight;
}
