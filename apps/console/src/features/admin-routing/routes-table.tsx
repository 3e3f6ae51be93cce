import { useQuery } from '@tanstack/react-query';
import { routesQuery, type Route } from '../../api/upstreams.ts';
import { paths } from '../../paths.ts';
import { Badge } from '../../ui/badge.tsx';
import { TextLink } from '../../ui/forms/button.tsx';
import { Count, Duration } from '../../ui/figures.tsx';
import { formatPercent } from '../../ui/format.ts';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { useSpeech, useWords, type Speech, type Words } from '../../words/words.ts';
import { RouteActs } from './route-acts.tsx';
import { useRouteHealth, type RouteHealth } from './use-health.ts';
import { useNames, type Names } from './use-names.ts';

interface RoutesTableProps {
  modelId?: number;
  upstreamId?: number;
  empty: string;
}

/** Routes by model and tier; all of them, or those of one model or upstream. */
export function RoutesTable({ modelId, upstreamId, empty }: RoutesTableProps) {
  const speech = useSpeech();
  const { words } = speech;
  const names = useNames();
  const list = useQuery(routesQuery);
  const health = useRouteHealth();
  const isShown = (route: Route): boolean =>
    (modelId === undefined || route.model_id === modelId) &&
    (upstreamId === undefined || route.upstream_id === upstreamId);
  return (
    <Loaded of={list}>
      {({ data }) => (
        <Table
          label={words.admin.routing.title}
          columns={[
            ...nameColumns(words, names, modelId === undefined, upstreamId === undefined),
            ...settingColumns(words),
            ...healthColumns(speech, health),
            {
              id: 'acts',
              header: '',
              align: 'right',
              cell: (route) => (
                <RouteActs of={route} carried={health.trafficOf(route)?.requests ?? 0} />
              ),
            },
          ]}
          rows={data.filter(isShown).toSorted(byModelAndTier(names))}
          rowId={({ id }) => id}
          empty={<EmptyState title={empty} />}
        />
      )}
    </Loaded>
  );
}

function byModelAndTier({ models }: Names): (a: Route, b: Route) => number {
  const name = (route: Route): string => models.get(route.model_id)?.name ?? '';
  return (a, b) => name(a).localeCompare(name(b)) || a.priority - b.priority || b.weight - a.weight;
}

function nameColumns(
  { admin: { routing } }: Words,
  { models, upstreams }: Names,
  withModel: boolean,
  withUpstream: boolean,
): Column<Route>[] {
  const model: Column<Route> = {
    id: 'model',
    header: routing.model,
    cell: ({ model_id: id }) => (
      <TextLink to={paths.adminModel(id)} className="foreign">
        {models.get(id)?.name ?? String(id)}
      </TextLink>
    ),
  };
  const upstream: Column<Route> = {
    id: 'upstream',
    header: routing.upstream,
    cell: ({ upstream_id: id, upstream_model: name }) => (
      <>
        <TextLink to={paths.adminUpstream(id)} className="foreign">
          {upstreams.get(id)?.name ?? String(id)}
        </TextLink>
        <code className="foreign block text-tiny text-text-3">{name}</code>
      </>
    ),
  };
  const [first, ...rest] = [...(withModel ? [model] : []), ...(withUpstream ? [upstream] : [])];
  return first ? [withNarrowState(first), ...rest] : [];
}

/** Narrow screens have no column of states: what is not sound stands below the first name. */
function withNarrowState(column: Column<Route>): Column<Route> {
  return {
    ...column,
    cell: (route) => (
      <>
        {column.cell(route)}
        <span className="block sm:hidden">
          <StateBadge of={route} isOnlyUnsound />
        </span>
      </>
    ),
  };
}

interface StateBadgeProps {
  of: Route;
  isOnlyUnsound?: boolean;
}

function StateBadge({ of: route, isOnlyUnsound = false }: StateBadgeProps) {
  const { routing } = useWords().admin;
  const { upstreams } = useNames();
  const state = useRouteHealth().stateOf(route, upstreams.get(route.upstream_id)?.enabled ?? true);
  if (isOnlyUnsound && state === 'sound') return null;
  return <Badge tone={TONES[state]}>{routing.states[state]}</Badge>;
}

function settingColumns({ admin: { routing } }: Words): Column<Route>[] {
  return [
    { id: 'tier', header: routing.tier, align: 'right', cell: ({ priority }) => priority },
    { id: 'weight', header: routing.weight, align: 'right', cell: ({ weight }) => weight },
  ];
}

const TONES = { unused: 'off', resting: 'bad', failing: 'warn', sound: 'good' } as const;

/** The same as the picture says by width, colour and dashes. */
function healthColumns({ words, locale }: Speech, health: RouteHealth): Column<Route>[] {
  const { routing } = words.admin;
  return [
    {
      id: 'share',
      header: routing.share24,
      align: 'right',
      from: 'sm',
      cell: (route) => formatPercent(health.trafficOf(route)?.share ?? 0, locale),
    },
    {
      id: 'errors',
      header: routing.errors24,
      align: 'right',
      from: 'lg',
      cell: (route) => <Count count={health.trafficOf(route)?.errors ?? 0} />,
    },
    {
      id: 'latency',
      header: routing.p95,
      align: 'right',
      from: 'lg',
      cell: (route) => <Duration ms={health.trafficOf(route)?.duration_p95_ms ?? null} />,
    },
    {
      id: 'state',
      header: routing.state,
      from: 'sm',
      cell: (route) => <StateBadge of={route} />,
    },
  ];
}
