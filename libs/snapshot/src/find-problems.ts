import { hasEmbeddings } from '@tollgate/contracts';
import { problem, type ConfigProblem, type ProblemCode } from './config-problem.ts';
import { knownWindow } from './known-window.ts';
import type { ModelRow, PriceRow, RouteRow, RoutingRows, UpstreamRow } from './routing-rows.ts';
import { upstreamProblems } from './upstream-problems.ts';

/** Returns what an administrator should know about the configuration before or after it is published. It is deterministic for one `nowMs`. */
export function findProblems(rows: RoutingRows, nowMs: number): ConfigProblem[] {
  const upstreams = new Map(rows.upstreams.map((upstream) => [upstream.id, upstream]));
  const models = new Map(rows.models.map((model) => [model.id, model]));
  const problems = [
    ...rows.models.flatMap((model) => modelProblems(model, rows, upstreams, nowMs)),
    ...rows.models.flatMap((model) => fallbackProblems(model, rows.models)),
    ...rows.routes.flatMap((route) =>
      routeProblems(route, models.get(route.modelId), upstreams.get(route.upstreamId)),
    ),
    ...duplicateProblems(rows),
    ...upstreamProblems(rows),
  ];
  return problems.toSorted(
    (a, b) => order(a).localeCompare(order(b), 'en') || a.subject.id - b.subject.id,
  );
}

function duplicateProblems({ routes, models, upstreams }: RoutingRows): ConfigProblem[] {
  return [
    ...duplicates(
      routes,
      (route) => `${route.modelId}/${route.upstreamId}/${route.upstreamModel}`,
    ).map((route) =>
      problem(
        'duplicate_route',
        'warning',
        'route',
        route.id,
        `route ${route.id} repeats an earlier route of model ${route.modelId} to upstream ${route.upstreamId}`,
      ),
    ),
    ...duplicates(models, (model) => model.name).map((model) =>
      problem(
        'duplicate_model_name',
        'error',
        'model',
        model.id,
        `model name "${model.name}" is taken by an earlier model`,
      ),
    ),
    ...duplicates(upstreams, (upstream) => upstream.name).map((upstream) =>
      problem(
        'duplicate_upstream_name',
        'warning',
        'upstream',
        upstream.id,
        `upstream name "${upstream.name}" is taken by an earlier upstream`,
      ),
    ),
  ];
}

function modelProblems(
  model: ModelRow,
  rows: RoutingRows,
  upstreams: ReadonlyMap<number, UpstreamRow>,
  nowMs: number,
): ConfigProblem[] {
  const prices = rows.prices.filter((price) => price.modelId === model.id);
  const isServed = rows.routes.some(
    (route) =>
      route.modelId === model.id && route.enabled && upstreams.get(route.upstreamId)?.enabled,
  );
  const found = [...priceProblems(model, prices, nowMs), ...inputProblems(model, rows)];
  if (!isServed && model.isOnShelf)
    found.push(
      problem(
        'model_without_route',
        'error',
        'model',
        model.id,
        `model "${model.name}" is on the shelf but no enabled route leads to an enabled upstream`,
      ),
    );
  return found;
}

/** Nothing could be held for input that no byte of a request bounds, so it is refused. */
function inputProblems(model: ModelRow, rows: RoutingRows): ConfigProblem[] {
  if (!model.isOnShelf || model.kind !== 'chat') return [];
  if (knownWindow(model, rows) !== null || model.unboundedInputTokens !== null) return [];
  return [
    problem(
      'model_input_unbounded',
      'warning',
      'model',
      model.id,
      `model "${model.name}" has neither context_window nor unbounded_input_tokens: requests with stored items, documents, files or tools of the provider are refused`,
    ),
  ];
}

/** A model that is not for sale may wait for its price. */
function priceProblems(
  model: ModelRow,
  prices: readonly PriceRow[],
  nowMs: number,
): ConfigProblem[] {
  const severity = model.isOnShelf ? 'error' : 'warning';
  const about = (
    code: ProblemCode,
    level: ConfigProblem['severity'],
    text: string,
  ): ConfigProblem[] => [problem(code, level, 'model', model.id, `model "${model.name}" ${text}`)];
  if (prices.length === 0)
    return about('model_without_price', severity, 'has no price and is left out of the snapshot');
  const inForce = prices
    .filter((price) => price.effectiveAtMs <= nowMs)
    .toSorted((a, b) => b.effectiveAtMs - a.effectiveAtMs || b.id - a.id)[0];
  if (!inForce) return about('model_not_yet_priced', severity, 'has no price in force yet');
  if (!inForce.isUndeclaredZero) return [];
  return about(
    'model_never_priced',
    'warning',
    'charges nothing and was never declared free: set a price, or a price of 0 with "free": true',
  );
}

/** Nodes pass such a fallback over. */
function fallbackProblems(model: ModelRow, models: readonly ModelRow[]): ConfigProblem[] {
  const isKnown = (name: string): boolean =>
    models.some((other) => other.name === name || other.aliases.includes(name));
  return (model.failover.fallbacks ?? [])
    .filter((fallback) => !isKnown(fallback.model))
    .map((fallback) =>
      problem(
        'fallback_to_unknown_model',
        'warning',
        'model',
        model.id,
        `model "${model.name}" falls back on "${fallback.model}", which does not exist`,
      ),
    );
}

function routeProblems(
  route: RouteRow,
  model: ModelRow | undefined,
  upstream: UpstreamRow | undefined,
): ConfigProblem[] {
  const found: ConfigProblem[] = [];
  const find = (code: ProblemCode, severity: ConfigProblem['severity'], message: string): void =>
    void found.push(problem(code, severity, 'route', route.id, `route ${route.id} ${message}`));
  if (!model)
    find('route_to_missing_model', 'warning', `names model ${route.modelId}, which does not exist`);
  if (!upstream)
    find(
      'route_to_missing_upstream',
      'error',
      `names upstream ${route.upstreamId}, which does not exist`,
    );
  if (route.enabled && upstream && !upstream.enabled)
    find(
      'route_to_disabled_upstream',
      'warning',
      `leads to upstream "${upstream.name}", which is disabled`,
    );
  if (model?.kind === 'embedding' && upstream && !hasEmbeddings(upstream.protocol))
    find(
      'embedding_route_to_anthropic',
      'error',
      `sends embeddings to upstream "${upstream.name}", whose protocol has none`,
    );
  return found;
}

/** Returns all but the first (lowest id) of each group that shares a key. */
function duplicates<T extends { id: number }>(rows: readonly T[], keyOf: (row: T) => string): T[] {
  return [
    ...Map.groupBy(
      rows.toSorted((a, b) => a.id - b.id),
      keyOf,
    ).values(),
  ].flatMap((group) => group.slice(1));
}

function order(entry: ConfigProblem): string {
  return `${entry.severity}:${entry.code}`;
}
