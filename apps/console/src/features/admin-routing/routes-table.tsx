import type { Route } from '../../api/upstreams.ts';
import { paths } from '../../paths.ts';
import { Badge } from '../../ui/badge.tsx';
import { TextLink } from '../../ui/forms/button.tsx';
import { Count, Duration } from '../../ui/figures.tsx';
import { formatCount, formatPercent } from '../../ui/format.ts';
import { EmptyState, Loaded, type Loadable } from '../../ui/states.tsx';
import { FoldedTable } from '../../ui/tables/folded-table.tsx';
import type { Column } from '../../ui/tables/table.tsx';
import { useSpeech, useWords, type Speech, type Words } from '../../words/words.ts';
import { RouteActs } from './route-acts.tsx';
import { ROUTE_STATES, useRouteHealth, type RouteHealth, type RouteState } from './use-health.ts';
import { useNames } from './use-names.ts';
import { stateOf, type Facts } from './use-shown-routes.ts';

interface RoutesTableProps {
  of: Loadable<readonly Route[]>;
  /** All these routes share this end, which has no column. */
  shared?: 'model' | 'upstream';
  /** A long list is folded by this end. */
  groupBy?: 'model' | 'upstream' | undefined;
  empty: string;
}

/** Shows routes by model and tier. */
export function RoutesTable({ of: list, shared, groupBy, empty }: RoutesTableProps) {
  const speech = useSpeech();
  const { words } = speech;
  const names = useNames();
  const health = useRouteHealth();
  const idOf = (route: Route): number => (groupBy === 'model' ? route.model_id : route.upstream_id);
  const named = groupBy === 'model' ? names.models : names.upstreams;
  return (
    <Loaded of={list}>
      {(rows) => (
        <FoldedTable
          label={words.admin.routing.title}
          columns={[
            ...nameColumns(words, { names, health }, shared),
            ...settingColumns(words),
            ...healthColumns(speech, { names, health }),
            actColumn(health),
          ]}
          rows={rows}
          rowId={({ id }) => id}
          empty={<EmptyState title={empty} />}
          groupOf={groupBy && ((route) => String(idOf(route)))}
          head={({ name, rows: of }) => (
            <GroupState
              name={named.get(Number(name))?.name ?? name}
              of={of}
              facts={{ names, health }}
            />
          )}
        />
      )}
    </Loaded>
  );
}

/** Shows the name of a group, the worst state of its routes, and what they carried. */
function GroupState({ name, of, facts }: { name: string; of: readonly Route[]; facts: Facts }) {
  const { words, locale } = useSpeech();
  const { routing } = words.admin;
  const states = new Set(of.map((route) => stateOf(route, facts)));
  const worst = ROUTE_STATES.find((state) => states.has(state)) ?? 'idle';
  const requests = of.reduce(
    (sum, route) => sum + (facts.health.trafficOf(route)?.requests ?? 0),
    0,
  );
  return (
    <>
      <span className="foreign font-medium">{name}</span>
      <StateBadge state={worst} isKnown={facts.health.isKnown} />
      {requests > 0 && (
        <span className="text-text-3">{routing.requests24(formatCount(requests, locale))}</span>
      )}
    </>
  );
}

function actColumn(health: RouteHealth): Column<Route> {
  return {
    id: 'acts',
    header: '',
    align: 'right',
    cell: (route) => <RouteActs of={route} carried={health.trafficOf(route)?.requests ?? 0} />,
  };
}

function nameColumns(
  { admin: { routing } }: Words,
  facts: Facts,
  shared: 'model' | 'upstream' | undefined,
): Column<Route>[] {
  const { models, upstreams } = facts.names;
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
  const [first, ...rest] = [model, upstream].filter(({ id }) => id !== shared);
  return first ? [withNarrowState(first, facts), ...rest] : [];
}

/** Narrow screens have no column of states: what is not sound stands below the first name. */
function withNarrowState(column: Column<Route>, facts: Facts): Column<Route> {
  return {
    ...column,
    cell: (route) => (
      <>
        {column.cell(route)}
        {stateOf(route, facts) !== 'sound' && (
          <span className="block sm:hidden">
            <StateBadge state={stateOf(route, facts)} isKnown={facts.health.isKnown} />
          </span>
        )}
      </>
    ),
  };
}

function StateBadge({ state, isKnown }: { state: RouteState; isKnown: boolean }) {
  const { routing } = useWords().admin;
  if (state === 'idle' && !isKnown) return null;
  return <Badge tone={TONES[state]}>{routing.states[state]}</Badge>;
}

function settingColumns({ admin: { routing } }: Words): Column<Route>[] {
  return [
    { id: 'tier', header: routing.tier, align: 'right', cell: ({ priority }) => priority },
    { id: 'weight', header: routing.weight, align: 'right', cell: ({ weight }) => weight },
  ];
}

const TONES = {
  unused: 'off',
  idle: 'off',
  resting: 'bad',
  failing: 'warn',
  sound: 'good',
} as const;

/** Returns columns that say the same as the picture does by width, colour and dashes. */
function healthColumns({ words, locale }: Speech, facts: Facts): Column<Route>[] {
  const { health } = facts;
  const { routing } = words.admin;
  return [
    {
      id: 'share',
      header: routing.share24,
      align: 'right',
      from: 'sm',
      cell: (route) => {
        const traffic = health.trafficOf(route);
        return traffic ? formatPercent(traffic.share, locale) : '–';
      },
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
      cell: (route) => <StateBadge state={stateOf(route, facts)} isKnown={facts.health.isKnown} />,
    },
  ];
}
