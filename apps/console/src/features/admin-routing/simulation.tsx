import { useQuery } from '@tanstack/react-query';
import { memo } from 'react';
import { simulationQuery, type CallerProtocol, type RouteTraffic } from '../../api/upstreams.ts';
import { CLIENT_PROTOCOLS } from '../../api/tables.ts';
import type { Shape } from '../../api/client.ts';
import { Badge } from '../../ui/badge.tsx';
import { SelectFilter } from '../../ui/tables/select-filter.tsx';
import { formatPercent } from '../../ui/format.ts';
import { Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { useSpeech, type Speech } from '../../words/words.ts';
import { useRouteHealth } from './use-health.ts';
import { useNames } from './use-names.ts';

type Found = Shape<'RoutingSimulation'>;
type SimulatedRoute = Found['routes'][number];

interface SimulationProps {
  modelId: number | undefined;
  protocol: CallerProtocol;
  onChange: (patch: { model?: string; protocol?: string }) => void;
}

/** Asks the server where a request of this model and protocol would go now. A search of the list beside it does not draw it again. */
export const Simulation = memo(function Simulation({
  modelId,
  protocol,
  onChange,
}: SimulationProps) {
  const { words } = useSpeech();
  const { routing } = words.admin;
  const { models } = useNames();
  const chosen = modelId ?? [...models.keys()][0];
  const found = useQuery({
    ...simulationQuery(chosen ?? 0, protocol),
    enabled: chosen !== undefined,
  });
  if (chosen === undefined) return null;
  return (
    <Panel
      title={routing.simulate}
      isFlush
      actions={<QuestionFilters model={chosen} protocol={protocol} onChange={onChange} />}
    >
      <Loaded of={found}>{(answer) => <SimulatedRoutes of={answer} />}</Loaded>
    </Panel>
  );
});

interface QuestionFiltersProps extends Pick<SimulationProps, 'protocol' | 'onChange'> {
  model: number;
}

function QuestionFilters({ model, protocol, onChange }: QuestionFiltersProps) {
  const { admin, tables } = useSpeech().words;
  const { routing } = admin;
  const { models } = useNames();
  return (
    <>
      <SelectFilter
        label={routing.model}
        value={String(model)}
        onChange={(value) => onChange({ model: value })}
        options={[...models.values()].map(({ id, name }) => ({
          value: String(id),
          label: name,
        }))}
      />
      <SelectFilter
        label={routing.protocol}
        value={protocol}
        onChange={(value) => onChange({ protocol: value })}
        options={CLIENT_PROTOCOLS.map((value) => ({ value, label: tables.callers[value] }))}
      />
    </>
  );
}

function SimulatedRoutes({ of: answer }: { of: Found }) {
  const speech = useSpeech();
  const health = useRouteHealth();
  const { routing } = speech.words.admin;
  return (
    <Table
      label={routing.simulate}
      columns={columnsOf(speech, (route) =>
        health.trafficOf({ model_id: answer.model_id, upstream_id: route.upstream_id }),
      )}
      rows={answer.routes}
      rowId={({ route_id: id }) => id}
      empty={<EmptyState title={routing.notServable}>{answer.reason ?? ''}</EmptyState>}
    />
  );
}

function columnsOf(
  { words, locale }: Pick<Speech, 'words' | 'locale'>,
  trafficOf: (route: SimulatedRoute) => RouteTraffic | undefined,
): Column<SimulatedRoute>[] {
  const { routing } = words.admin;
  return [
    {
      id: 'order',
      header: routing.order,
      cell: ({ order, excluded_by: excluded }) => (excluded === null ? order + 1 : '–'),
    },
    {
      id: 'upstream',
      header: routing.upstream,
      cell: ({ upstream, upstream_model: model, is_translated: isTranslated }) => (
        <>
          <span className="foreign font-medium">{upstream}</span>
          <code className="foreign block text-tiny text-text-3">
            {model}
            {isTranslated && ` · ${routing.translated}`}
          </code>
        </>
      ),
    },
    ...shareColumns({ words, locale }, trafficOf),
    {
      id: 'state',
      header: routing.state,
      from: 'sm',
      cell: ({ excluded_by: excluded }) =>
        excluded === null ? (
          <Badge tone="good">{routing.enabled}</Badge>
        ) : (
          <Badge tone="warn">{routing.excluded[excluded]}</Badge>
        ),
    },
  ];
}

/** Shows the share that a route will carry beside the share that it has carried; the table of routes shows the second. */
function shareColumns(
  { words, locale }: Pick<Speech, 'words' | 'locale'>,
  trafficOf: (route: SimulatedRoute) => RouteTraffic | undefined,
): Column<SimulatedRoute>[] {
  const { routing } = words.admin;
  return [
    {
      id: 'share',
      header: routing.share,
      align: 'right',
      cell: ({ share, excluded_by: excluded }) =>
        share === 0 && excluded === null ? routing.laterTier : formatPercent(share, locale),
    },
    {
      id: 'carried',
      header: routing.share24,
      align: 'right',
      from: 'sm',
      cell: (route) => formatPercent(trafficOf(route)?.share ?? 0, locale),
    },
  ];
}
