import type { ModelRow, RouteRow, RoutingRows } from './routing-rows.ts';

/** Returns the window that an administrator set for the route, else what is known of its upstream's model. */
function routeWindow({ contextWindow, familyContextWindow }: RouteRow): number | null {
  return contextWindow ?? familyContextWindow;
}

/**
 * Returns the context window of a model: its own, else the largest of its routes, where it is known of each. A request whose input nothing bounds holds it,
 * whichever route serves it.
 */
export function knownWindow(
  model: ModelRow,
  { routes, upstreams }: Pick<RoutingRows, 'routes' | 'upstreams'>,
): number | null {
  if (model.contextWindow !== null) return model.contextWindow;
  const enabled = new Set(upstreams.filter((upstream) => upstream.enabled).map(({ id }) => id));
  const windows = routes
    .filter((route) => route.modelId === model.id && route.enabled && enabled.has(route.upstreamId))
    .map(routeWindow);
  return windows.reduce(
    (most, window) => (most === null || window === null ? null : Math.max(most, window)),
    windows[0] ?? null,
  );
}
