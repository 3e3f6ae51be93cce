import { Plus } from '../../ui/icons.tsx';
import { useDeferredValue, useState } from 'react';
import { Button } from '../../ui/forms/button.tsx';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import { SearchBox } from '../../ui/tables/search-box.tsx';
import { Segments } from '../../ui/tables/segments.tsx';
import { SelectFilter } from '../../ui/tables/select-filter.tsx';
import {
  optional,
  useSearchState,
  withDefault,
  z,
  type SearchOf,
} from '../../ui/tables/search-state.ts';
import { installationStepsQuery } from '../../api/admin.ts';
import { CLIENT_PROTOCOLS } from '../../api/tables.ts';
import { useWords } from '../../words/words.ts';
import { RoutingPicture } from './picture.tsx';
import { RouteDialog } from './route-dialog.tsx';
import { RoutesTable } from './routes-table.tsx';
import { ROUTE_STATES } from './use-health.ts';
import { useShownRoutes } from './use-shown-routes.ts';
import type { Search } from '../../search.ts';
import { Simulation } from './simulation.tsx';
import {
  routesQuery,
  routingHealthQuery,
  upstreamsQuery,
  type Route,
} from '../../api/upstreams.ts';
import { catalogueQuery } from '../../api/catalogue.ts';
import { NextInstallationStep } from '../admin-overview/installation-steps.tsx';
import type { Prefetch } from '../../page-module.ts';

const search = z.object({
  model: optional(z.coerce.number()),
  protocol: withDefault(z.enum(CLIENT_PROTOCOLS), 'chat'),
  create: optional(z.literal('1')),
  q: withDefault(z.string(), ''),
  state: optional(z.enum(ROUTE_STATES)),
  by: withDefault(z.enum(['model', 'upstream']), 'model'),
});

const NONE: readonly Route[] = [];

export const prefetch: Prefetch = (ask) => {
  ask(routesQuery);
  ask(catalogueQuery);
  ask(upstreamsQuery);
  ask(routingHealthQuery);
  ask(installationStepsQuery);
};

export function Page() {
  const { admin } = useWords();
  const { routing } = admin;
  const [{ model, protocol, create, q, state, by }, change] = useSearchState(search);
  const routes = useShownRoutes({ q, state });
  // The list answers a letter first, the picture follows.
  const pictured = useDeferredValue(routes.data);
  const isNarrowed = q.trim() !== '' || state !== undefined;
  const [isCreating, setCreating] = useState(create === '1');
  return (
    <Frame
      title={routing.title}
      purpose={routing.purpose}
      actions={<AddButton onAdd={() => setCreating(true)} />}
      bar={<Filters q={q} state={state} by={by} onChange={change} />}
    >
      <NextInstallationStep />
      <RoutingPicture of={pictured ?? NONE} />
      <Simulation modelId={model} protocol={protocol} onChange={change} />
      <Panel isFlush>
        <RoutesTable
          of={routes}
          groupBy={isNarrowed ? undefined : by}
          empty={isNarrowed ? routing.noMatch : routing.emptyText}
        />
      </Panel>
      <RouteDialog
        isOpen={isCreating}
        onClose={() => {
          setCreating(false);
          change({ create: undefined });
        }}
      />
    </Frame>
  );
}

interface FiltersProps extends Pick<SearchOf<typeof search>, 'q' | 'state' | 'by'> {
  onChange: (patch: Search) => void;
}

function Filters({ q, state, by, onChange }: FiltersProps) {
  const { routing } = useWords().admin;
  return (
    <>
      <SearchBox label={routing.search} value={q} onSearch={(text) => onChange({ q: text })} />
      <SelectFilter
        label={routing.state}
        value={state ?? ''}
        onChange={(value) => onChange({ state: value })}
        options={[
          { value: '', label: routing.allStates },
          ...ROUTE_STATES.map((value) => ({ value, label: routing.states[value] })),
        ]}
      />
      <Segments
        label={routing.groupBy}
        value={by}
        onChange={(value) => onChange({ by: value, open: undefined })}
        options={[
          { value: 'model', label: routing.byModel },
          { value: 'upstream', label: routing.byUpstream },
        ]}
      />
    </>
  );
}

function AddButton({ onAdd }: { onAdd: () => void }) {
  const { routing } = useWords().admin;
  return (
    <Button look="primary" icon={<Plus aria-hidden className="size-4" />} onClick={onAdd}>
      {routing.add}
    </Button>
  );
}
