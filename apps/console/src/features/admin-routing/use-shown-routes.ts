import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { SLOWLY_LIVE } from '../../api/live.ts';
import { routesQuery, routingHealthQuery, type Route } from '../../api/upstreams.ts';
import type { Loadable } from '../../ui/states.tsx';
import { useRouteHealth, type RouteHealth, type RouteState } from './use-health.ts';
import { useNames, type Names } from './use-names.ts';

interface RouteFilter {
  modelId?: number;
  upstreamId?: number;
  /** Is a part of the name of the model or the upstream, or of the model's name there. */
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
  const wanted = q.trim().toLowerCase();
  const list = useQuery(routesQuery);
  const names = useNames();
  const health = useRouteHealth();
  const found = useQuery({ ...routingHealthQuery, ...SLOWLY_LIVE });
  const sorted = useMemo(() => list.data?.data.toSorted(byModelAndTier(names)), [list.data, names]);
  const texts = useMemo(
    () => new Map(sorted?.map((route) => [route.id, namesOf(route, names)])),
    [sorted, names],
  );
  const data = useMemo(
    () =>
      sorted?.filter(
        (route) =>
          (modelId === undefined || route.model_id === modelId) &&
          (upstreamId === undefined || route.upstream_id === upstreamId) &&
          (wanted === '' || texts.get(route.id)?.includes(wanted) === true) &&
          (state === undefined || stateOf(route, { names, health }) === state),
      ),
    [sorted, texts, names, health, modelId, upstreamId, wanted, state],
  );
  if (state !== undefined && found.data === undefined)
    return { data: undefined, error: list.error ?? found.error, refetch: found.refetch };
  return { data, error: list.error, refetch: list.refetch };
}

/** Holds the ends of routes by name, and how routes do. */
export interface Facts {
  names: Names;
  health: RouteHealth;
}

export function stateOf(route: Route, { names, health }: Facts): RouteState {
  return health.stateOf(route, names.upstreams.get(route.upstream_id)?.enabled ?? true);
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
